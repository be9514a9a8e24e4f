import { roundMs } from '../predict/roundMs.ts';
import { tokenMs } from '../predict/tokenMs.ts';
import type { Packing, Stage } from './packing.ts';

/** How well a set of pipelines serves, in the order in which it counts. */
export interface Throughput {
  /** Of the first pipeline; infinite where there is none. */
  stages: number;
  /** Tokens per second of one request that is alone, on the first pipeline. */
  ofOne: number;
  /** Tokens per second of all slots of all pipelines. */
  ofMany: number;
}

/** Predicted times that differ by less are equal. */
const tolerance = 1e-9;

/** What these pipelines are predicted to do. */
export function throughputOf(pipelines: readonly (readonly Stage[])[], packing: Packing): Throughput {
  const [first] = pipelines;
  return {
    stages: first?.length ?? Number.POSITIVE_INFINITY,
    ofOne: first === undefined ? 0 : 1000 / tokenMs(first, packing),
    ofMany: pipelines.reduce((sum, stages) => sum + ratePerSecond(stages, packing), 0),
  };
}

/** Tokens per second of all slots of one pipeline. */
export function ratePerSecond(stages: readonly Stage[], packing: Packing): number {
  return (packing.slots * 1000) / roundMs(stages, packing);
}

/** Whether one request fares better: fewer hops first, then more tokens/s. */
export function isSooner(a: Throughput, b: Throughput): boolean {
  return a.stages === b.stages ? isMore(a.ofOne, b.ofOne) : a.stages < b.stages;
}

/** Whether a rate is more than another by more than rounding. */
export function isMore(a: number, b: number): boolean {
  return a > b * (1 + tolerance);
}
