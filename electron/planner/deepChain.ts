import { byStrength, type Candidate } from './candidate.ts';
import { furthest } from './furthest.ts';
import type { RangeCosts } from './rangeCosts.ts';
import type { Ring } from './ring.ts';

/** Steps after which the search gives up; far more than rooms without missing links need. */
const patience = 20_000;

/**
 * A chain of exactly `count` members that holds the model, for rooms too large to search exactly: depth first, the
 * strongest member that may follow first. Null where none is found. `ranked` is in order of memory.
 */
export function deepChain(
  ranked: readonly Candidate[],
  costs: RangeCosts,
  ring: Ring,
  count: number,
): Candidate[] | null {
  const parts = costs.boundaries.length - 1;
  if (count > parts || count > ranked.length) return null;
  const byChoice = ranked
    .map((candidate, index) => ({ candidate, index }))
    .sort((a, b) => byStrength(a.candidate, b.candidate));
  // Only the largest are needed where everyone reaches everyone, and those are tried first.
  const choices = [...byChoice.filter(({ index }) => index < count), ...byChoice.filter(({ index }) => index >= count)];
  const used = new Set<number>();
  const chain: { candidate: Candidate; index: number }[] = [];
  let steps = 0;

  const mayHold = (from: number) => {
    let left = costs.bytes(costs.boundaries[from] ?? 0, costs.layerCount);
    let room = count - chain.length;
    for (const [index, { capacity }] of ranked.entries()) {
      if (left <= 0 || room === 0) break;
      if (used.has(index)) continue;
      left -= capacity;
      room -= 1;
    }
    return left <= 0;
  };
  const extend = (from: number): boolean => {
    if (chain.length === count) return from === parts;
    if (!mayHold(from)) return false;
    const last = chain.at(-1);
    const final = chain.length === count - 1;
    const most = parts - (count - chain.length - 1);
    for (const choice of choices) {
      const { index, candidate } = choice;
      if (used.has(index) || (final && !ring.mayFinish(index))) continue;
      if (last === undefined ? !ring.mayStart(index) : !ring.mayFollow(last.index, index)) continue;
      steps += 1;
      if (steps > patience) return false;
      const end = furthest(costs, candidate.capacity, from, most);
      if (end === from) continue;
      used.add(index);
      chain.push(choice);
      if (extend(end)) return true;
      chain.pop();
      used.delete(index);
    }
    return false;
  };
  return extend(0) ? chain.map(({ candidate }) => candidate) : null;
}
