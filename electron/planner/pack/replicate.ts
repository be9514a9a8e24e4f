import type { Candidate } from '../admit/candidate.ts';
import { pack } from './pack.ts';
import type { Packing, Stage } from './packing.ts';

/**
 * One pipeline after another, each of fewest stages among the members that are left, up to `most` pipelines: a spare
 * machine buys throughput, not depth.
 */
export function replicate(
  candidates: readonly Candidate[],
  packing: Packing,
  limits: { least: number; most: number },
  most: number,
): Stage[][] {
  const pipelines: Stage[][] = [];
  let left = [...candidates];
  while (pipelines.length < most) {
    const stages = pack(left, packing, limits);
    if (stages === null) break;
    pipelines.push(stages);
    const used = new Set(stages.map(({ candidate }) => candidate));
    left = left.filter((candidate) => !used.has(candidate));
  }
  return pipelines;
}
