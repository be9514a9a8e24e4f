import type { Settings } from '../costs/settings.ts';
import type { Packing, Stage } from '../pack/packing.ts';
import { tokenIdBytes } from '../pack/ring.ts';
import { ratePerSecond } from '../pack/throughput.ts';
import { chunkMs, stageMs } from './stageMs.ts';
import { tokenMs } from './tokenMs.ts';

/** What a pipeline is expected to do, before it has run or from what was measured of it. */
export interface PipelinePrediction {
  /** Milliseconds of each stage for one token of one sequence. */
  stages: { address: string; ms: number }[];
  /** Milliseconds of each hop for one token: half a round trip and the activations. */
  hops: { from: string; to: string; ms: number }[];
  /** Token ids from the coordinator to the first stage and back from the last; 0 where it holds the stage itself. */
  entryMs: number;
  exitMs: number;
  /** Tokens per second of one request that is alone. */
  tokensPerSecond: number;
  /** Tokens per second of all slots together, with as many micro-batches in flight as there are stages. */
  tokensPerSecondMany: number;
  /** Milliseconds from a prompt of `promptTokens` to its first token. */
  firstTokenMs: number;
  promptTokens: number;
}

/** Predicts from bytes, bandwidths and links, or measured stage times where there are some. */
export function predict(stages: readonly Stage[], packing: Packing, settings: Settings): PipelinePrediction {
  const { costs, links, coordinator, activationBytes } = packing;
  const address = (index: number) => stages[index]?.candidate.address ?? '';
  const leg = (from: string | null, to: string | null) =>
    from === null || to === null ? 0 : links.oneWayMs(from, to, tokenIdBytes);
  const entryMs = leg(coordinator, address(0));
  const exitMs = leg(address(stages.length - 1), coordinator);
  const hopsOf = (rows: number) =>
    stages.slice(1).map((_, index) => links.oneWayMs(address(index), address(index + 1), rows * activationBytes));
  const transfersOf = (rows: number) =>
    stages.slice(1).map((_, index) => links.transferMs(address(index), address(index + 1), rows * activationBytes));
  const chunkOf = (tokens: number) =>
    stages.map(({ candidate, start, end }) => chunkMs(candidate, costs, start, end, tokens));

  const stageTimes = stages.map(({ candidate, start, end }) => stageMs(candidate, costs, start, end, 1));
  const hopTimes = hopsOf(1);

  const chunks = Math.ceil(settings.promptTokens / settings.batch);
  const fullChunk = Math.min(settings.batch, settings.promptTokens);
  const lastChunk = settings.promptTokens - (chunks - 1) * settings.batch;
  const slowestMs = Math.max(...chunkOf(fullChunk), ...transfersOf(fullChunk));
  const firstTokenMs = entryMs + (chunks - 1) * slowestMs + sum(chunkOf(lastChunk)) + sum(hopsOf(lastChunk)) + exitMs;

  return {
    stages: stages.map(({ candidate }, index) => ({ address: candidate.address, ms: stageTimes[index] ?? 0 })),
    hops: hopTimes.map((ms, index) => ({ from: address(index), to: address(index + 1), ms })),
    entryMs,
    exitMs,
    tokensPerSecond: 1000 / tokenMs(stages, packing),
    tokensPerSecondMany: ratePerSecond(stages, packing),
    firstTokenMs,
    promptTokens: settings.promptTokens,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
