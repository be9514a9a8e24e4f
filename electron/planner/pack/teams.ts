import { type Candidate, nameOfAll } from '../admit/candidate.ts';
import { microBatch } from '../predict/roundMs.ts';
import { covers } from './fewestStages.ts';
import type { Packing } from './packing.ts';
import { type Floor, readingFloor } from './readingFloor.ts';
import type { Ring } from './ring.ts';

/** Members that can serve as one pipeline, none of whom could be spared. */
export interface Team {
  /** Who they are, as a set of `memberSets` and by their index in the list, in an order that works. */
  set: number;
  order: readonly number[];
  /** Equal for teams that serve alike, whoever leads. */
  kind: string;
  /** Tokens per second that it serves at most: to one request, and in all slots. */
  mostOfOne: number;
  mostOfMany: number;
}

/** Bounds that are missed by rounding must hide no team. */
const optimism = 1 + 1e-9;

/**
 * All teams of `least` to `most` of at most `exactLimit` candidates, the smallest first, then those of early members. `oneMs` is
 * the floor for one sequence.
 */
export function teamsOf(
  list: readonly Candidate[],
  packing: Packing,
  ring: Ring,
  oneMs: Floor,
  { least, most }: { least: number; most: number },
): Team[] {
  const { links, coordinator } = packing;
  const kinds = list.map(({ address, kind }) =>
    links.unknown ? `${kind} ${address === coordinator}` : nameOfAll([address, coordinator ?? '']),
  );
  const teams: Team[] = [];
  for (let size = least; size <= most; size += 1) {
    const smaller = [...teams];
    // A step cannot come round sooner than it reads the model and crosses the network.
    const manyMs = readingFloor(list, packing, microBatch(packing.slots, size).sequences);
    const found = covers(list, packing, ring, size);
    let done = 0;
    for (const set of found.sets) {
      const couldSpare = smaller.some((team) => (team.set & set) === team.set);
      const order = couldSpare ? null : found.orderOf(set);
      if (couldSpare || order !== null) done += 1;
      if (order === null) continue;
      const members = order.map((index) => kinds[index] ?? '');
      const latencyMs = ring.leastLatencyMs(set);
      teams.push({
        set,
        order,
        kind: members.sort().join('|'),
        mostOfOne: (1000 / (oneMs(set) + latencyMs)) * optimism,
        mostOfMany: ((packing.slots * 1000) / (manyMs(set) + latencyMs)) * optimism,
      });
    }
    // Where every set of this size is a team or has one in it, nobody is needed in a larger one.
    if (done === choose(list.length, size)) break;
  }
  return teams;
}

/** Sets of `count` of `size` members. */
function choose(size: number, count: number): number {
  let sets = 1;
  for (let drawn = 1; drawn <= count; drawn += 1) sets = (sets * (size - drawn + 1)) / drawn;
  return sets;
}
