import type { Candidate } from '../admit/candidate.ts';
import { tokenMs } from '../predict/tokenMs.ts';
import type { Covers } from './covers.ts';
import { canTryAll, covers } from './fewestStages.ts';
import { memberSets } from './memberSets.ts';
import type { Packing } from './packing.ts';
import { readingFloor } from './readingFloor.ts';
import { ringOf, tokenIdBytes } from './ring.ts';
import { allOrders, soonest } from './soonest.ts';

/**
 * How many milliseconds a token takes at least under a leader, so that leaders under whom nothing is gained need not be
 * tried. `glanceMs` is soon told and never more than `floorMs`.
 */
export interface LeaderFloors {
  glanceMs(leader: string | null): number;
  floorMs(leader: string | null): number;
}

/** What one token takes at least where `sets` serve that nobody leads. */
type LeastMs = (sets: Covers['sets']) => number;

/**
 * The floors where `count` of at most `exactLimit` candidates serve. The candidates are those of a room that nobody leads.
 */
export function leaderFloors(
  list: readonly Candidate[],
  shared: Omit<Packing, 'coordinator' | 'served'>,
  count: number,
): LeaderFloors {
  const packing = { ...shared, served: new Map(), coordinator: null };
  const ring = ringOf(list, packing);
  const found = covers(list, packing, ring, count);
  const isExact = canTryAll(ring, list.length, count);
  const floorMs = readingFloor(list, packing, 1);
  const { bits } = memberSets(list.length);
  const least: LeastMs = (sets) => {
    let leastSoFar = Number.POSITIVE_INFINITY;
    for (const set of sets) {
      const ms = floorMs(set) + ring.leastLatencyMs(set);
      if (ms < leastSoFar && (!isExact || found.orderOf(set) !== null)) leastSoFar = ms;
    }
    return leastSoFar;
  };
  /** Where every order is tried, what nobody leads is no slower than what anybody leads. */
  const leastOfSplits: LeastMs = (sets) => {
    const stages = soonest({ ...found, sets }, list, packing, ring, { floorMs });
    return stages === null ? Number.POSITIVE_INFINITY : tokenMs(stages, packing);
  };
  const glanceMs = underLeaders(least);
  return { glanceMs, floorMs: count > allOrders ? glanceMs : underLeaders(leastOfSplits) };

  function underLeaders(leastMs: LeastMs): (leader: string | null) => number {
    let unledMs: number | null = null;
    return (leader) => {
      unledMs ??= leastMs(found.sets);
      if (leader === null) return unledMs;
      const others = list.filter(({ address }) => address !== leader);
      const inMs = leastOf(others.map(({ address }) => packing.links.oneWayMs(leader, address, tokenIdBytes)));
      const outMs = leastOf(others.map(({ address }) => packing.links.oneWayMs(address, leader, tokenIdBytes)));
      const own = count === 1 ? 0 : Math.min(inMs, outMs);
      const index = list.findIndex(({ address }) => address === leader);
      const withLeader = found.sets.filter((set) => (set & (bits[index] ?? 0)) !== 0);
      return Math.min(leastMs(withLeader) + own, unledMs + inMs + outMs);
    };
  }
}

function leastOf(values: readonly number[]): number {
  return Math.min(Number.POSITIVE_INFINITY, ...values);
}
