import { MOST_ROWS, type StepCosts } from './stepCosts.ts';

/** One way must be this much quicker before sequences share a step: alone, a row never depends on its company. */
const WORTH_FUSING = 0.97;

/**
 * How many of `active` decoding sequences share a step, as groups of about equal size have it (`nextStep`). n sequences in groups of
 * g make m = ceil(n / g) steps; a round of all takes as long as the slowest stage needs for m steps, or as one step needs for
 * the whole ring where that is longer. The size with the quickest round, the smaller of about equal ones. Before anything
 * was measured: one step per stage.
 */
export function groupSize(active: number, stages: number, costs: StepCosts, most: number): number {
  const largest = Math.max(1, Math.min(active, most));
  if (active < 1) return 1;
  const even = (size: number): number => evenSize(active, size);
  if (!costs.isKnown) return even(Math.min(largest, Math.max(1, Math.ceil(active / stages))));
  // Kernels take rows in blocks, so no size tells what twice as many cost: each is tried now and then.
  for (let size = 1; size <= Math.min(largest, MOST_ROWS); size *= 2) if (!costs.knows(even(size))) return even(size);
  let best = 1;
  let bestMs = Number.POSITIVE_INFINITY;
  for (let size = 1; size <= largest; size += 1) {
    if (even(size) !== size) continue;
    const steps = Math.ceil(active / size);
    const ms = Math.max(costs.ringMs(size), steps * costs.slowestMs(size));
    if (ms < bestMs * WORTH_FUSING) [best, bestMs] = [size, ms];
  }
  return best;
}

/** How large the groups are where as few as can be hold `active` sequences, `most` at most in each, and all are about equal. */
export function evenSize(active: number, most: number): number {
  return Math.ceil(active / Math.ceil(active / most));
}
