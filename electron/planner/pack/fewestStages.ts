import type { Candidate } from '../admit/candidate.ts';
import type { Covers } from './covers.ts';
import { linkedCovers } from './linkedCovers.ts';
import { exactLimit, memberSets, setsOf, sizeOf } from './memberSets.ts';
import type { Packing } from './packing.ts';
import type { Ring } from './ring.ts';

/** Members of whom every set is searched though not everyone may follow everyone, and stages for which it is in larger rooms. */
const exactWithGaps = { members: 10, stages: 6 };

/** Whether all sets of `count` of so many members can be searched while someone waits. */
export function canTryAll({ open }: Pick<Ring, 'open'>, members: number, count: number): boolean {
  const hasTime = open || members <= exactWithGaps.members || count <= exactWithGaps.stages;
  return members <= exactLimit && hasTime;
}

const nothing: Covers = { sets: [], orderOf: () => null };

/**
 * All sets of exactly `count` of candidates that hold the model, where `canTryAll`, each with at least one part of it.
 * Exact: nothing is left out that could do.
 */
export function covers(list: readonly Candidate[], packing: Packing, ring: Ring, count: number): Covers {
  const parts = packing.costs.boundaries.length - 1;
  if (count > list.length || count > parts) return nothing;
  const key = `${count} ${list.map(({ capacity }) => capacity).join(' ')} ${ring.open ? '' : ring.shape()}`;
  const known = packing.covers.get(key);
  if (known !== undefined) return known;
  const sets = largeEnough(list, packing, count);
  const found = ring.open ? openCovers(sets, list, packing, count) : linkedCovers(sets, list, packing, ring, count);
  packing.covers.set(key, found);
  return found;
}

/** The sets that would hold the model if each member stood where it holds most. */
function largeEnough(list: readonly Candidate[], packing: Packing, count: number): readonly number[] {
  const parts = packing.costs.boundaries.length - 1;
  const { bits } = memberSets(list.length);
  const most = list.map(({ capacity }) => packing.reachOf(capacity).mostParts);
  return setsOf(count, list.length).filter((set) => {
    let held = 0;
    for (let index = 0; index < bits.length; index += 1) {
      if ((set & (bits[index] ?? 0)) !== 0) held += most[index] ?? 0;
    }
    return held >= parts;
  });
}

/**
 * Where everyone may stand anywhere. A stage that starts later ends no earlier, so of all orders of a set only the furthest
 * reach matters; a member that then finds nothing that it can hold is not needed.
 */
function openCovers(sets: readonly number[], list: readonly Candidate[], packing: Packing, count: number): Covers {
  const parts = packing.costs.boundaries.length - 1;
  const reaches = list.map(({ capacity }) => packing.reachOf(capacity));
  const { all, bits } = memberSets(list.length);
  /** How far a set gets, and 1; 0 where that was not asked yet. */
  const reached = new Int16Array(all + 1);
  /** How far a set gets when this member ends it; 0 where it cannot. */
  const endOf = (set: number, last: number, most: number): number => {
    const rest = set ^ (bits[last] ?? 0);
    const from = rest === 0 ? 0 : furthestOf(rest);
    if (rest !== 0 && from === 0) return 0;
    const end = reaches[last]?.to(from, most) ?? 0;
    return end > from ? end : 0;
  };
  const furthestOf = (set: number): number => {
    const known = reached[set] ?? 0;
    if (known > 0) return known - 1;
    const most = parts - (count - sizeOf(set));
    let furthest = 0;
    for (let last = 0; last < bits.length && furthest < most; last += 1) {
      if ((set & (bits[last] ?? 0)) !== 0) furthest = Math.max(furthest, endOf(set, last, most));
    }
    reached[set] = furthest + 1;
    return furthest;
  };
  return {
    sets,
    orderOf: (set) => {
      if (furthestOf(set) < parts) return null;
      const order: number[] = [];
      let rest = set;
      for (let level = count; level > 0; level -= 1) {
        const most = parts - (count - level);
        const furthest = furthestOf(rest);
        const last = bits.findIndex((bit, index) => (rest & bit) !== 0 && endOf(rest, index, most) === furthest);
        order.unshift(last);
        rest ^= bits[last] ?? 0;
      }
      return order;
    },
  };
}
