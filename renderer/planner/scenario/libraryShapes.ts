import type { PoolModel } from '../../../electron/gateway/memberApi.ts';
import type { ModelShape } from '../../../electron/planner/modelShape.ts';
import { callMember } from '../../member/memberStore.ts';
import { libraryChoice, type ModelChoice } from './modelChoice.ts';

/** By content id: what has the same id has the same header. */
const shapes = new Map<string, ModelShape>();

/**
 * A model of the library, or of another member's, with its exact shape and what is known of its speeds by now; as its numbers
 * tell where the header cannot be read now.
 */
export async function exactChoice(model: Omit<PoolModel, 'holders'>): Promise<ModelChoice> {
  const [shape, speeds] = await Promise.all([
    shapes.get(model.id) ?? callMember('modelShape', { model: model.id }).catch(() => null),
    callMember('modelSpeeds', { model: model.id }).then(
      (learnt) => learnt.speeds,
      () => ({}),
    ),
  ]);
  if (shape !== null) shapes.set(model.id, shape);
  return libraryChoice(model, shape, speeds);
}
