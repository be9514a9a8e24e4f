import type { ModelFiles, ModelHolder } from '../forming/modelFiles.ts';
import { PipelineError } from '../pipelineError.ts';
import type { PoolPipelines } from '../serving/poolPipelines.ts';
import { findHolders } from './findHolders.ts';
import type { ServingRoom } from './servingRoom.ts';

/** A model that somebody in the pool has. */
export interface Located {
  /** Content id. */
  model: string;
  /** Whether this member's library has it, as it was or not. */
  isHere: boolean;
  /** The other members that have it. */
  holders: readonly ModelHolder[];
}

/**
 * What a person means by a model, asked of this member's disk and of everyone else: a name must mean the same wherever it is
 * said. Null where nobody has such a model; throws one plain line where several are called so.
 */
export async function locateModel(
  called: string,
  { files, ...pool }: { files: Pick<ModelFiles, 'find'>; room: ServingRoom; others: Pick<PoolPipelines, 'clientOf'> },
): Promise<Located | null> {
  const own = await files.find(called);
  const found = await findHolders(called, pool);
  const models = [...new Set([...(own === null ? [] : [own]), ...found.map(({ model }) => model)])];
  const [model, ...more] = models;
  if (model === undefined) return null;
  if (more.length > 0) {
    const ids = models.map((id) => id.slice(0, 8)).join(', ');
    throw new PipelineError('FormFailed', `Several models are called ${called}: give the id of one (${ids}).`);
  }
  return { model, isHere: own !== null, holders: found.map(({ holder }) => holder) };
}
