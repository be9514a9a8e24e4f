import type { PoolModel } from '../../../electron/gateway/memberApi.ts';
import type { ModelShape } from '../../../electron/planner/modelShape.ts';
import { callMember } from '../../member/memberStore.ts';
import { libraryChoice, type ModelChoice } from './modelChoice.ts';

/** By content id: what has the same id has the same header. */
const shapes = new Map<string, ModelShape>();

/** A model of the library, or of another member's, with its exact shape; as its numbers tell where the header cannot be read now. */
export async function exactChoice(model: Omit<PoolModel, 'holders'>): Promise<ModelChoice> {
  const known = shapes.get(model.id);
  if (known !== undefined) return libraryChoice(model, known);
  const shape = await callMember('modelShape', { model: model.id }).catch(() => null);
  if (shape !== null) shapes.set(model.id, shape);
  return libraryChoice(model, shape);
}
