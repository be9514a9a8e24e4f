import { byStrength, type Candidate } from '../admit/candidate.ts';
import { openChain } from './openChain.ts';
import type { Packing } from './packing.ts';
import type { Ring } from './ring.ts';

/** Steps after which the search gives up. */
const patience = 2_000;

/**
 * A chain of exactly `count` members that holds the model, for rooms too large to search exactly: in an open ring by
 * `openChain`, else depth first, the strongest member that may follow first. Null where none is found. `ranked` is in
 * order of memory.
 */
export function deepChain(
  ranked: readonly Candidate[],
  packing: Packing,
  ring: Ring,
  count: number,
): Candidate[] | null {
  const { costs, reachOf } = packing;
  const parts = costs.boundaries.length - 1;
  if (count > parts || count > ranked.length) return null;
  if (ring.open) {
    const chain = openChain(ranked.slice(0, count), packing);
    if (chain !== null) return chain;
  }
  const reaches = ranked.map(({ capacity }) => reachOf(capacity));
  // A larger member can stand in for a smaller one wherever it is let, so where all are let the largest will do.
  const choices = ranked
    .map((candidate, index) => ({ candidate, index }))
    .slice(0, ring.open ? count : ranked.length)
    .sort((a, b) => byStrength(a.candidate, b.candidate));
  const used = new Set<number>();
  const chain: number[] = [];
  let steps = 0;

  const mayHold = (from: number) => {
    let left = parts - from;
    let room = count - chain.length;
    for (let index = 0; index < ranked.length && left > 0 && room > 0; index += 1) {
      if (used.has(index)) continue;
      left -= reaches[index]?.mostParts ?? 0;
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
    const tried = new Set<number>();
    for (const { index, candidate } of choices) {
      if (used.has(index) || (ring.open && tried.has(candidate.capacity))) continue;
      if (last === undefined ? !ring.mayStart(index) : !ring.mayFollow(last, index)) continue;
      if (final && !ring.mayFinish(index)) continue;
      tried.add(candidate.capacity);
      steps += 1;
      if (steps > patience) return false;
      const end = reaches[index]?.to(from, most) ?? from;
      if (end === from) continue;
      used.add(index);
      chain.push(index);
      if (extend(end)) return true;
      chain.pop();
      used.delete(index);
    }
    return false;
  };
  return extend(0) ? chain.flatMap((index) => ranked[index] ?? []) : null;
}
