import type { PipelineReport } from '../pipeline/numbers/pipelineReport.ts';
import type { ServingFigures } from './memberApi.ts';

/** What was predicted of a pipeline beside what it does; null before it serves. */
export function servingFigures({ stages, predicted, figures }: PipelineReport): ServingFigures | null {
  if (predicted === null || figures === null) return null;
  const nameOf = (index: number): string => stages[index]?.name ?? '';
  const { stageMs, hopMs, entryMs, exitMs, tokensPerSecond: one, tokensPerSecondMany: many } = predicted;
  const hasStepped = figures.stepMs > 0;
  return {
    stages: figures.stages.map(({ computeMs, queueMs }, index) => ({
      member: nameOf(index),
      predictedMs: stageMs[index] ?? 0,
      measuredMs: computeMs > 0 ? computeMs : null,
      queueMs,
    })),
    hops: figures.hops.map(({ ms, bytes }, index) => {
      const [from, to] = [nameOf(index), nameOf(index + 1)];
      return { from, to, predictedMs: hopMs[index] ?? 0, measuredMs: ms, bytes };
    }),
    entry: { predictedMs: entryMs, measuredMs: figures.entry.ms, bytes: figures.entry.bytes },
    exit: { predictedMs: exitMs, measuredMs: figures.exit.ms, bytes: figures.exit.bytes },
    stepMs: hasStepped ? figures.stepMs : null,
    networkMs: hasStepped ? figures.networkMs : null,
    running: figures.running,
    queue: figures.queued,
    acceptance: figures.draftedTokens === 0 ? null : figures.acceptedTokens / figures.draftedTokens,
    tokensIn: figures.promptTokens + figures.cachedTokens,
    tokensCached: figures.cachedTokens,
    tokensOut: figures.generatedTokens,
    predictedTokensPerSecond: { one, many },
    tokensPerSecond: figures.tokensPerSecond,
  };
}
