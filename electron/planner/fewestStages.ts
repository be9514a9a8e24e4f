import type { Candidate } from './candidate.ts';
import type { Packing } from './packing.ts';
import type { Reach } from './reach.ts';
import type { Ring } from './ring.ts';

/** Members that can hold the model together, with one order that works; indexes into the list that was searched. */
export interface Cover {
  order: readonly number[];
}

/** The most members that are searched exactly: every set of them, in every order. */
export const exactLimit = 10;

/**
 * All sets of exactly `count` of at most `exactLimit` candidates that hold the model, each with at least one part of it;
 * sets of members that stand early in the list come first. Exact: for each set and the member that ends it, it knows at
 * which boundaries the two can stop. In an open ring the furthest will do, because a member that then finds nothing that
 * it can hold is not needed; where links are missing it may be needed as a bridge.
 */
export function covers(list: readonly Candidate[], packing: Packing, ring: Ring, count: number): Cover[] {
  const size = list.length;
  const parts = packing.costs.boundaries.length - 1;
  if (count > size || count > parts) return [];
  const reaches = list.map(({ capacity }) => packing.reachOf(capacity));
  // The first of the list is the highest bit, so that the sets of early members are the largest numbers.
  const bits = list.map((_, index) => 1 << (size - 1 - index));
  const all = (1 << size) - 1;
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
        const ends = endsFrom(before, reach, most, ring.open);
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

/** Where a stage may end that starts at one of these boundaries, ascending; only the furthest for `furthest`. */
function endsFrom(starts: readonly number[], reach: Reach, most: number, furthest: boolean): readonly number[] {
  if (furthest) {
    const from = starts.at(-1);
    const end = from === undefined ? 0 : reach.to(from, most);
    return from === undefined || end === from ? [] : [end];
  }
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

/** Number of members in a set of at most 16. */
function sizeOf(set: number): number {
  const pairs = set - ((set >> 1) & 0x5555);
  const nibbles = (pairs & 0x3333) + ((pairs >> 2) & 0x3333);
  const bytes = (nibbles + (nibbles >> 4)) & 0x0f0f;
  return (bytes + (bytes >> 8)) & 0x1f;
}
