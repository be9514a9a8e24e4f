import type { LibraryModel, PoolModel } from '../library/libraryState.ts';
import type { HeldModel } from '../pipeline/serving/heldModel.ts';

/** What the other members are told of this one's library: the models that are as they were. */
export function heldModels(models: readonly LibraryModel[]): HeldModel[] {
  return models
    .filter(({ state }) => state === 'ready')
    .map(({ id, name, title, parameters, quantisation, layers, bytes, embedsOnly }) => {
      return { id, name, title, parameters, quantisation, layers, bytes, embedsOnly };
    });
}

/** The models of the other members that this one could not serve from its own disk, each once, by name. */
export function modelsElsewhere(
  own: readonly LibraryModel[],
  held: readonly { holder: string; models: readonly HeldModel[] }[],
): PoolModel[] {
  const here = new Set(heldModels(own).map(({ id }) => id));
  const found = new Map<string, PoolModel>();
  for (const { holder, models } of held) {
    for (const model of models) {
      if (here.has(model.id)) continue;
      const holders = [...(found.get(model.id)?.holders ?? []), holder].sort();
      found.set(model.id, { ...(found.get(model.id) ?? model), holders });
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id < b.id ? -1 : 1));
}
