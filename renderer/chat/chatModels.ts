import type { ServingPipeline } from '../../electron/gateway/memberApi.ts';

/** Models that can be talked to now, each once; those that only turn texts into vectors are none. */
export function chatModels(pipelines: readonly ServingPipeline[]): string[] {
  const talking = pipelines.filter(({ state, embedsOnly }) => state === 'serving' && !embedsOnly);
  return [...new Set(talking.map(({ modelId }) => modelId))];
}
