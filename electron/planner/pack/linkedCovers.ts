import type { Candidate } from '../admit/candidate.ts';
import type { Reach } from '../costs/reach.ts';
import type { Cover } from './cover.ts';
import { memberSets, sizeOf } from './memberSets.ts';
import type { Packing } from './packing.ts';
import type { Ring } from './ring.ts';

/**
 * The covers of a room in which not everyone may follow everyone. Here a member may be needed as a bridge with only a part
 * of what it could hold, so for each set and the member that ends it, all boundaries are kept at which the two can stop.
 */
export function linkedCovers(list: readonly Candidate[], packing: Packing, ring: Ring, count: number): Cover[] {
  const size = list.length;
  const parts = packing.costs.boundaries.length - 1;
  const reaches = list.map(({ capacity }) => packing.reachOf(capacity));
  const { all, bits } = memberSets(size);
  const stops = new Map<number, readonly number[]>();
  const stopsOf = (set: number, last: number) => stops.get(set * size + last) ?? [];

  for (let level = 1; level <= count; level += 1) {
    const most = parts - (count - level);
    for (let set = all; set > 0; set -= 1) {
      if (sizeOf(set) !== level) continue;
      reaches.forEach((reach, last) => {
        const bit = bits[last] ?? 0;
        if ((set & bit) === 0 || (level === count && !ring.mayFinish(last))) return;
        if (level === 1 && !ring.mayStart(last)) return;
        const before = level === 1 ? [0] : startsBehind(set ^ bit, last, stopsOf, ring, size);
        const ends = endsFrom(before, reach, most);
        if (ends.length > 0) stops.set(set * size + last, ends);
      });
    }
  }

  const found: Cover[] = [];
  for (let set = all; set > 0; set -= 1) {
    if (sizeOf(set) !== count) continue;
    const last = list.findIndex((_, index) => stopsOf(set, index).at(-1) === parts);
    if (last >= 0) found.push({ order: traceBack(set, last) });
  }
  return found;

  function traceBack(set: number, last: number): number[] {
    const order = [last];
    let rest = set ^ (bits[last] ?? 0);
    let member = last;
    let stop = parts;
    for (let level = count; rest !== 0; level -= 1) {
      const most = parts - (count - level);
      const reach = reaches[member];
      const leadsHere = (from: number) => from < stop && (reach?.to(from, most) ?? 0) >= stop;
      const before = list.findIndex(
        (_, other) => ring.mayFollow(other, member) && stopsOf(rest, other).some(leadsHere),
      );
      stop = stopsOf(rest, before).find(leadsHere) ?? 0;
      member = before;
      rest ^= bits[before] ?? 0;
      order.unshift(before);
    }
    return order;
  }
}

/** The boundaries at which a set may have stopped when this member follows, ascending. */
function startsBehind(
  set: number,
  next: number,
  stopsOf: (set: number, last: number) => readonly number[],
  ring: Ring,
  size: number,
): readonly number[] {
  let starts: readonly number[] = [];
  for (let last = 0; last < size; last += 1) {
    const more = stopsOf(set, last);
    if (more.length === 0 || !ring.mayFollow(last, next)) continue;
    starts = starts.length === 0 ? more : merged(starts, more);
  }
  return starts;
}

/** Where a stage may end that starts at one of these boundaries, ascending. */
function endsFrom(starts: readonly number[], reach: Reach, most: number): readonly number[] {
  const ends: number[] = [];
  let done = 0;
  for (const from of starts) {
    const end = reach.to(from, most);
    for (let at = Math.max(from, done) + 1; at <= end; at += 1) ends.push(at);
    done = Math.max(done, end);
  }
  return ends;
}

function merged(left: readonly number[], right: readonly number[]): readonly number[] {
  return [...new Set([...left, ...right])].sort((a, b) => a - b);
}
