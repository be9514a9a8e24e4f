import type { Candidate } from '../admit/candidate.ts';
import type { Reach } from '../costs/reach.ts';
import type { Covers } from './covers.ts';
import { memberSets, sizeOf } from './memberSets.ts';
import type { Packing } from './packing.ts';
import type { Ring } from './ring.ts';

/** Boundaries at which a chain may stop: the first and last of each run of them, ascending. */
type Stops = readonly number[];

const nowhere: Stops = [];

/**
 * The covers of a room in which not everyone may follow everyone. Here a member may be needed as a bridge with only a part
 * of what it could hold, so for each set and the member that ends it, all boundaries are kept at which the two can stop.
 */
export function linkedCovers(
  sets: readonly number[],
  list: readonly Candidate[],
  packing: Packing,
  ring: Ring,
  count: number,
): Covers {
  const size = list.length;
  const parts = packing.costs.boundaries.length - 1;
  const reaches = list.map(({ capacity }) => packing.reachOf(capacity));
  const { bits } = memberSets(size);
  const setWhere = (belongs: (index: number) => boolean) =>
    bits.reduce((set, bit, index) => (belongs(index) ? set | bit : set), 0);
  const starting = setWhere((index) => ring.mayStart(index));
  const finishing = setWhere((index) => ring.mayFinish(index));
  const before = list.map((_, after) => setWhere((index) => index !== after && ring.mayFollow(index, after)));
  const known = new Map<number, Stops>();

  const stopsOf = (set: number, last: number): Stops => {
    const key = set * size + last;
    const found = known.get(key) ?? newStops(set, last);
    known.set(key, found);
    return found;
  };
  const newStops = (set: number, last: number): Stops => {
    const reach = reaches[last];
    if (reach === undefined) return nowhere;
    const level = sizeOf(set);
    const most = parts - (count - level);
    const rest = set ^ (bits[last] ?? 0);
    if (rest === 0) return (starting & set) === 0 ? nowhere : endsFrom([0, 0], reach, most);
    let starts = nowhere;
    const leading = rest & (before[last] ?? 0);
    for (let index = 0; index < size; index += 1) {
      if ((leading & (bits[index] ?? 0)) !== 0) starts = merged(starts, stopsOf(rest, index));
    }
    return endsFrom(starts, reach, most);
  };
  const finishes = (set: number, last: number) =>
    (set & finishing & (bits[last] ?? 0)) !== 0 && stopsOf(set, last).at(-1) === parts;

  const orderOf = (set: number, finish: number): readonly number[] => {
    const order = [finish];
    let rest = set ^ (bits[finish] ?? 0);
    let member = finish;
    let stop = parts;
    for (let level = count; rest !== 0; level -= 1) {
      const most = parts - (count - level);
      const reach = reaches[member];
      const leadsHere = (from: number) => from < stop && (reach?.to(from, most) ?? 0) >= stop;
      const earlier = bits.findIndex(
        (bit, index) =>
          (rest & (before[member] ?? 0) & bit) !== 0 && earliest(stopsOf(rest, index), leadsHere) !== null,
      );
      stop = earliest(stopsOf(rest, earlier), leadsHere) ?? 0;
      member = earlier;
      rest ^= bits[earlier] ?? 0;
      order.unshift(earlier);
    }
    return order;
  };

  return {
    sets: sets.filter((set) => (set & starting) !== 0 && (set & finishing) !== 0),
    orderOf: (set) => {
      const finish = bits.findIndex((_, index) => finishes(set, index));
      return finish < 0 ? null : orderOf(set, finish);
    },
  };
}

/** Where a stage may end that starts at one of these boundaries. */
function endsFrom(starts: Stops, reach: Reach, most: number): Stops {
  const ends: number[] = [];
  for (let run = 0; run < starts.length; run += 2) {
    const last = starts[run + 1] ?? 0;
    for (let from = starts[run] ?? 0; from <= last; from += 1) {
      const end = reach.to(from, most);
      const done = ends.at(-1) ?? Number.NEGATIVE_INFINITY;
      if (end === from || end <= done) continue;
      // A later start ends no earlier, so what is new follows the run before it or begins another.
      if (from <= done) ends[ends.length - 1] = end;
      else ends.push(from + 1, end);
    }
  }
  return ends;
}

function merged(left: Stops, right: Stops): Stops {
  if (left.length === 0) return right;
  if (right.length === 0) return left;
  const all: number[] = [];
  let [l, r] = [0, 0];
  while (l < left.length || r < right.length) {
    const isLeft = r >= right.length || (l < left.length && (left[l] ?? 0) <= (right[r] ?? 0));
    const [first = 0, last = 0] = isLeft ? [left[l], left[l + 1]] : [right[r], right[r + 1]];
    if (isLeft) l += 2;
    else r += 2;
    const done = all.at(-1) ?? Number.NEGATIVE_INFINITY;
    if (first > done + 1) all.push(first, last);
    else if (last > done) all[all.length - 1] = last;
  }
  return all;
}

/** The first of these boundaries that will do, null for none. */
function earliest(stops: Stops, willDo: (boundary: number) => boolean): number | null {
  for (let run = 0; run < stops.length; run += 2) {
    for (let at = stops[run] ?? 0; at <= (stops[run + 1] ?? 0); at += 1) if (willDo(at)) return at;
  }
  return null;
}
