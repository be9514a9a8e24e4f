import type { Candidate } from '../admit/candidate.ts';
import type { Cover } from './cover.ts';
import { linkedCovers } from './linkedCovers.ts';
import { memberSets, sizeOf } from './memberSets.ts';
import type { Packing } from './packing.ts';
import type { Ring } from './ring.ts';

/**
 * All sets of exactly `count` of at most `exactLimit` candidates that hold the model, each with at least one part of it.
 * Sets of members that stand early in the list come first. Exact: nothing is left untried that could do.
 */
export function covers(list: readonly Candidate[], packing: Packing, ring: Ring, count: number): readonly Cover[] {
  const parts = packing.costs.boundaries.length - 1;
  if (count > list.length || count > parts) return [];
  if (!ring.open) return linkedCovers(list, packing, ring, count);
  const key = `${count} ${list.map(({ capacity }) => capacity).join(' ')}`;
  const known = packing.covers.get(key) ?? openCovers(list, packing, count);
  packing.covers.set(key, known);
  return known;
}

/**
 * Where everyone may stand anywhere. A stage that starts later ends no earlier, so of all orders of a set only the furthest
 * reach matters; a member that then finds nothing that it can hold is not needed.
 */
function openCovers(list: readonly Candidate[], packing: Packing, count: number): Cover[] {
  const parts = packing.costs.boundaries.length - 1;
  const reaches = list.map(({ capacity }) => packing.reachOf(capacity));
  const { all, bits } = memberSets(list.length);
  const reached = new Int16Array(all + 1);
  /** How far a set gets when this member ends it; 0 where it cannot. */
  const endOf = (set: number, last: number, most: number) => {
    const from = reached[set ^ (bits[last] ?? 0)] ?? 0;
    const end = reaches[last]?.to(from, most) ?? 0;
    return end > from ? end : 0;
  };
  const found: Cover[] = [];
  // A set comes after all its parts, which are smaller numbers.
  for (let set = 1; set <= all; set += 1) {
    const level = sizeOf(set);
    if (level > count) continue;
    const most = parts - (count - level);
    let furthest = 0;
    for (let last = 0; last < bits.length; last += 1) {
      const bit = bits[last] ?? 0;
      if ((set & bit) === 0 || (set !== bit && reached[set ^ bit] === 0)) continue;
      furthest = Math.max(furthest, endOf(set, last, most));
    }
    reached[set] = furthest;
    if (level === count && furthest === parts) found.push({ order: orderOf(set) });
  }
  return found.reverse();

  function orderOf(set: number): number[] {
    const order: number[] = [];
    let rest = set;
    for (let level = count; level > 0; level -= 1) {
      const most = parts - (count - level);
      const last = bits.findIndex((bit, index) => (rest & bit) !== 0 && endOf(rest, index, most) === reached[rest]);
      order.unshift(last);
      rest ^= bits[last] ?? 0;
    }
    return order;
  }
}
