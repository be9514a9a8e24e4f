import type { Candidate } from '../admit/candidate.ts';
import { tokenMs } from '../predict/tokenMs.ts';
import type { Covers } from './covers.ts';
import { covers } from './fewestStages.ts';
import { memberSets } from './memberSets.ts';
import type { Packing } from './packing.ts';
import { readingFloor } from './readingFloor.ts';
import { ringOf, tokenIdBytes } from './ring.ts';
import { allOrders, soonest } from './soonest.ts';

/**
 * Tells how many milliseconds a token takes at least when `count` of at most `exactLimit` candidates serve and a member
 * leads, so that leaders under whom nothing is gained need not be tried. The candidates are those of a room that nobody leads.
 */
export function leaderFloor(
  list: readonly Candidate[],
  shared: Omit<Packing, 'coordinator' | 'served'>,
  count: number,
): (leader: string | null) => number {
  const packing = { ...shared, served: new Map(), coordinator: null };
  const ring = ringOf(list, packing);
  const found = covers(list, packing, ring, count);
  const floorMs = readingFloor(list, packing, 1);
  const { bits } = memberSets(list.length);
  /** Where every order is tried, what nobody leads is no slower than what anybody leads. */
  const leastMs = (sets: Covers['sets']) => {
    if (count > allOrders) return soonestFloor(sets);
    const stages = soonest({ ...found, sets }, list, packing, ring, { floorMs });
    return stages === null ? Number.POSITIVE_INFINITY : tokenMs(stages, packing);
  };
  const soonestFloor = (sets: Covers['sets']) => {
    let leastSoFar = Number.POSITIVE_INFINITY;
    for (const set of sets) {
      const ms = floorMs(set) + ring.leastLatencyMs(set);
      if (ms < leastSoFar && found.orderOf(set) !== null) leastSoFar = ms;
    }
    return leastSoFar;
  };
  const unledMs = leastMs(found.sets);
  return (leader) => {
    if (leader === null) return unledMs;
    const others = list.filter(({ address }) => address !== leader);
    const inMs = least(others.map(({ address }) => packing.links.oneWayMs(leader, address, tokenIdBytes)));
    const outMs = least(others.map(({ address }) => packing.links.oneWayMs(address, leader, tokenIdBytes)));
    const own = count === 1 ? 0 : Math.min(inMs, outMs);
    const index = list.findIndex(({ address }) => address === leader);
    const withLeader = found.sets.filter((set) => (set & (bits[index] ?? 0)) !== 0);
    return Math.min(leastMs(withLeader) + own, unledMs + inMs + outMs);
  };
}

function least(values: readonly number[]): number {
  return Math.min(Number.POSITIVE_INFINITY, ...values);
}
