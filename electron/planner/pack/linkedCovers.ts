import type { Candidate } from '../admit/candidate.ts';
import type { Reach } from '../costs/reach.ts';
import type { Cover } from './cover.ts';
import { memberSets } from './memberSets.ts';
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
  const { bits } = memberSets(size);
  /** The most parts that so many members can add. */
  const most = reaches.map(({ mostParts }) => mostParts).sort((a, b) => b - a);
  const added = Array.from({ length: count + 1 }, (_, more) =>
    most.slice(0, more).reduce((sum, held) => sum + held, 0),
  );
  const stops = new Map<number, readonly number[]>();
  const stopsOf = (set: number, last: number) => stops.get(set * size + last) ?? [];

  let level = 1;
  let starts = new Map<number, readonly number[]>();
  for (let first = 0; first < size; first += 1) {
    if (ring.mayStart(first)) starts.set((bits[first] ?? 0) * size + first, [0]);
  }
  for (; ; level += 1) {
    const later = new Map<number, readonly number[]>();
    for (const [key, before] of starts) {
      const last = key % size;
      if (level === count && !ring.mayFinish(last)) continue;
      const reach = reaches[last];
      const ends = reach === undefined ? [] : endsFrom(before, reach, parts - (count - level));
      if ((ends.at(-1) ?? Number.NEGATIVE_INFINITY) + (added[count - level] ?? 0) < parts) continue;
      stops.set(key, ends);
      if (level === count) continue;
      const set = (key - last) / size;
      for (let next = 0; next < size; next += 1) {
        const bit = bits[next] ?? 0;
        if ((set & bit) !== 0 || !ring.mayFollow(last, next)) continue;
        const behind = (set | bit) * size + next;
        const known = later.get(behind);
        later.set(behind, known === undefined ? ends : merged(known, ends));
      }
    }
    if (level === count) break;
    starts = later;
  }

  const complete = new Set<number>();
  for (const key of starts.keys()) if (stops.get(key)?.at(-1) === parts) complete.add(Math.floor(key / size));
  const found: Cover[] = [];
  for (const set of [...complete].sort((a, b) => b - a)) {
    const last = list.findIndex((_, index) => stopsOf(set, index).at(-1) === parts);
    found.push({ order: traceBack(set, last) });
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
  const all: number[] = [];
  let [l, r] = [0, 0];
  while (l < left.length || r < right.length) {
    const [a = Number.POSITIVE_INFINITY, b = Number.POSITIVE_INFINITY] = [left[l], right[r]];
    all.push(Math.min(a, b));
    if (a <= b) l += 1;
    if (b <= a) r += 1;
  }
  return all;
}
