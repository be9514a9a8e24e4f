import type { Candidate } from '../admit/candidate.ts';
import { covers } from './fewestStages.ts';
import type { Packing } from './packing.ts';
import { readingFloor } from './readingFloor.ts';
import { ringOf, tokenIdBytes } from './ring.ts';

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
  const floorMs = readingFloor(list, packing.costs, 1);
  const sets = covers(list, packing, ring, count).map(({ order }) => ({
    members: order.map((index) => list[index]?.address),
    ms: floorMs(order) + ring.leastLatencyMs(order),
  }));
  const least = (values: readonly number[]) => Math.min(Number.POSITIVE_INFINITY, ...values);
  return (leader) => {
    if (leader === null) return least(sets.map(({ ms }) => ms));
    const others = list.filter(({ address }) => address !== leader);
    const inMs = least(others.map(({ address }) => packing.links.oneWayMs(leader, address, tokenIdBytes)));
    const outMs = least(others.map(({ address }) => packing.links.oneWayMs(address, leader, tokenIdBytes)));
    const own = count === 1 ? 0 : Math.min(inMs, outMs);
    return least(sets.map(({ members, ms }) => ms + (members.includes(leader) ? own : inMs + outMs)));
  };
}
