import { byMemory, type Candidate } from '../admit/candidate.ts';
import type { Packing, Stage } from '../pack/packing.ts';
import { splitChain } from '../pack/splitChain.ts';
import { apportion } from './apportion.ts';
import { order } from './order.ts';

/** A pipeline over all members, and those that could not be part of it. */
export interface Spread {
  stages: Stage[];
  /** More members than parts of the model. */
  tooMany: Candidate[];
  /** Without a usable link in and out. */
  cutOff: Candidate[];
}

/**
 * One pipeline in which every candidate holds layers in proportion to its memory, at least one part of the model and
 * never more than it can hold. Null where no chain of them can hold the model.
 */
export function spread(candidates: readonly Candidate[], packing: Packing): Spread | null {
  const parts = packing.costs.boundaries.length - 1;
  const bySize = [...candidates].sort(byMemory);
  const kept = bySize.slice(0, parts);
  const tooMany = bySize.slice(parts);
  // A member that fits only elsewhere in the chain must not keep the model from being served: the smallest leave first.
  for (let size = kept.length; size >= 1; size -= 1) {
    const { chain, cutOff } = order(kept.slice(0, size), packing);
    const stages = proportionalStages(chain, packing);
    if (stages !== null) return { stages, tooMany, cutOff };
  }
  return null;
}

/** Shares the layers out over a chain, as near to the quotas as cut points and room allow; null where it has no room. */
export function proportionalStages(chain: readonly Candidate[], packing: Packing): Stage[] | null {
  const { boundaries, layerCount } = packing.costs;
  const parts = boundaries.length - 1;
  if (chain.length === 0 || chain.length > parts) return null;
  const claims = chain.map(({ address, member, capacity }, position) => ({
    address,
    weight: member.memoryBytes,
    most: mostLayers(packing, capacity, position, chain.length),
  }));
  const wanted = apportion(claims, layerCount);
  return splitChain(chain, packing, {
    sum: (position, start, end) => (end - start - (wanted[position] ?? 0)) ** 2,
    worst: () => 0,
    rank: () => 0,
  });
}

/** The most layers that a member can hold at its place in a chain, at least 1. */
function mostLayers({ costs, reachOf }: Packing, capacity: number, position: number, length: number): number {
  const { boundaries } = costs;
  const parts = boundaries.length - 1;
  const after = length - 1 - position;
  const reach = reachOf(capacity);
  let most = 1;
  for (let from = position; from < (position === 0 ? 1 : parts - after); from += 1) {
    const to = reach.to(from, parts - after);
    if (after === 0 && to < parts) continue;
    most = Math.max(most, (boundaries[to] ?? 0) - (boundaries[from] ?? 0));
  }
  return most;
}
