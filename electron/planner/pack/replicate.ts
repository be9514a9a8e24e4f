import { byMemory, type Candidate } from '../admit/candidate.ts';
import { mostAtOnce, replicaLimit } from './mostAtOnce.ts';
import { pack } from './pack.ts';
import type { Packing, Stage } from './packing.ts';
import { isMore, isSooner, type Throughput, throughputOf } from './throughput.ts';

/** What pipelines may be like, and what they have to reach. */
export interface ReplicaLimits {
  /** Stages of a pipeline. */
  least: number;
  most: number;
  /** Pipelines at most. */
  pipelines: number;
  /** The first may not have more hops nor be slower; null where any will do. */
  first: Throughput | null;
  /** More tokens per second of all slots than this. */
  ofMany: number;
  /** The first pipeline, where it was found before. */
  begun?: Stage[] | undefined;
}

/**
 * The best pipeline, and then, since a spare machine buys throughput and not depth, further ones of those that are left. In
 * rooms small enough to try everything those that serve most at once; else, and where speeds are unknown, the best one of
 * those that are left, and so on. Empty where the model does not fit, or the limits are not reached.
 */
export function replicate(candidates: readonly Candidate[], packing: Packing, limits: ReplicaLimits): Stage[][] {
  const { least, most, pipelines, first: bar, ofMany, begun } = limits;
  const first =
    begun ??
    pack(candidates, packing, {
      least,
      most: Math.min(most, bar?.stages ?? most),
      mostMs: bar === null ? undefined : 1000 / bar.ofOne,
    });
  if (first === null) return [];
  const reached = throughputOf([first], packing);
  if (bar !== null && isSooner(bar, reached)) return [];
  if (pipelines === 1 || candidates.length < 2 * first.length) return isMore(reached.ofMany, ofMany) ? [first] : [];
  if (packing.balances && candidates.length <= replicaLimit) {
    return mostAtOnce(first, candidates, packing, { longest: most, pipelines, ofMany }) ?? [];
  }
  const found = [first];
  let left = without([...candidates].sort(byMemory), first);
  while (found.length < pipelines) {
    const stages = pack(left, packing, { least, most });
    if (stages === null) break;
    found.push(stages);
    left = without(left, stages);
  }
  return found;
}

function without(candidates: readonly Candidate[], stages: readonly Stage[]): readonly Candidate[] {
  const used = new Set(stages.map(({ candidate }) => candidate.address));
  return candidates.filter(({ address }) => !used.has(address));
}
