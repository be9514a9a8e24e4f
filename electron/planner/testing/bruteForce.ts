import { carriesActivations, deviceClassOf, type Member } from '../member.ts';
import type { ModelShape } from '../modelShape.ts';
import type { PlanOptions } from '../planOptions.ts';
import { stageBytes } from '../stageBytes.ts';

/**
 * The fewest stages with which these members can hold the model, found by trying every order of every set of them with
 * every cut; null where none can. It shares with the planner only the bytes of a range. Nothing is rejected beforehand,
 * so that a gate which is too strict shows. `room` knows how a leader is
 * reached that holds nothing.
 */
export function fewestByBruteForce(
  members: readonly Member[],
  model: ModelShape,
  options: PlanOptions,
  coordinator: string | null,
  { least, room }: { least: number; room: readonly Member[] },
): number | null {
  const boundaries = [0, ...model.cutPoints, model.layers.length];
  const parts = boundaries.length - 1;
  const usable = (from: string, to: string) => from === to || carriesActivations(reach(from, to, room, options));
  const follows = members.map((to) => members.map((from) => usable(from.address, to.address)));
  const starts = members.map(({ address }) => coordinator === null || usable(coordinator, address));
  const finishes = members.map(({ address }) => coordinator === null || usable(address, coordinator));
  // Where nobody dialled and nobody leads, all that is known of a way into a member is what it says of itself.
  if (coordinator === null && (options.links ?? []).length === 0) {
    const known = members.filter(({ reachability = 'LocalDirect' }) => carriesActivations(reachability));
    if (known.length < members.length) return fewestByBruteForce(known, model, options, coordinator, { least, room });
  }
  const rooms = members.map((member) => roomFor(member, options, coordinator));
  // For each member and start, the set of ends that it has room for.
  const ends: number[][] = members.map(() => boundaries.map(() => 0));
  for (let from = 0; from < parts; from += 1) {
    for (let to = from + 1; to <= parts; to += 1) {
      const range = { start: boundaries[from] ?? 0, end: boundaries[to] ?? 0 };
      const onDevice = stageBytes(model, range, options).total;
      const onCpu = stageBytes(model, range, options, 'cpu').total;
      members.forEach((member, index) => {
        const row = ends[index];
        const total = deviceClassOf(member) === 'cpu' ? onCpu : onDevice;
        if (row !== undefined && total <= (rooms[index] ?? 0)) row[from] = (row[from] ?? 0) | (1 << to);
      });
    }
  }
  /** Whether `left` more members can go on from some boundary of a set of them. */
  const goesOn = (from: number, last: number | null, used: number, left: number): boolean => {
    if (left === 0) return (from & (1 << parts)) !== 0 && (last === null || finishes[last] === true);
    return members.some((_, next) => {
      if ((used & (1 << next)) !== 0) return false;
      if (last === null ? !starts[next] : !follows[next]?.[last]) return false;
      const to = boundaries.reduce((set, _, at) => ((from & (1 << at)) === 0 ? set : set | (ends[next]?.[at] ?? 0)), 0);
      return to !== 0 && goesOn(to, next, used | (1 << next), left - 1);
    });
  };
  for (let count = least; count <= members.length; count += 1) if (goesOn(1, null, 0, count)) return count;
  return null;
}

/** Bytes for stages, worked out from the documentation of the options. */
export function roomFor(
  member: Member,
  options: PlanOptions,
  coordinator: string | null,
  withPlainRam = false,
): number {
  const headroom = options.headroom ?? 0.05;
  const kept = member.headroomBytes ?? Math.ceil(member.memoryBytes * headroom);
  const deviceClass = deviceClassOf(member);
  const host = deviceClass === 'gpu' ? 0 : (options.engineHostBytes ?? 64 * 1024 * 1024);
  const leads = member.address === coordinator ? (options.draft?.bytes ?? 0) + host : 0;
  const plain = withPlainRam && deviceClass !== 'cpu' ? Math.floor((member.hostMemoryBytes ?? 0) * (1 - headroom)) : 0;
  return Math.max(0, member.memoryBytes - kept - leads) + plain;
}

function reach(from: string, to: string, members: readonly Member[], options: PlanOptions) {
  const link = options.links?.find((each) => each.from === from && each.to === to);
  return link?.reachability ?? members.find(({ address }) => address === to)?.reachability ?? 'LocalDirect';
}
