import type { LibraryModel, ServingPipeline } from '../../electron/gateway/memberApi.ts';

/** The pipelines of a model. While one is being planned it is called as it was asked for, by id or name. */
export function pipelinesOf(
  { id, name }: Pick<LibraryModel, 'id' | 'name'>,
  pipelines: readonly ServingPipeline[],
): ServingPipeline[] {
  return pipelines.filter(({ contentId, modelId, aliases }) =>
    contentId === '' ? modelId === id || modelId === name || aliases.includes(name) : contentId === id,
  );
}

/** Whether it serves, or is on its way to. */
export function isUp({ state }: ServingPipeline): boolean {
  return state !== 'stopped' && state !== 'failed';
}

/** What serves, or comes up, of models that none of `models` is; each model once, with its pipelines. */
export function otherPipelines(
  models: readonly Pick<LibraryModel, 'id' | 'name'>[],
  pipelines: readonly ServingPipeline[],
): { modelId: string; pipelines: ServingPipeline[] }[] {
  const known = new Set(models.flatMap((model) => pipelinesOf(model, pipelines)));
  const others = pipelines.filter((pipeline) => !known.has(pipeline) && pipeline.state !== 'stopped');
  return [...new Set(others.map(({ modelId }) => modelId))].map((modelId) => ({
    modelId,
    pipelines: others.filter((pipeline) => pipeline.modelId === modelId),
  }));
}
