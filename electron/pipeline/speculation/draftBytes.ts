import type { ModelShape } from '../../planner/modelShape.ts';
import { memoryToShare } from '../../planner/stageBytes.ts';
import type { ServingSizes } from '../placement/servingSizes.ts';

/** Memory that a model takes which drafts for one of these sizes, bytes. */
export function draftBytes(shape: ModelShape, sizes: ServingSizes): number {
  const whole = { start: 0, end: shape.layers.length };
  return memoryToShare(shape, whole, { ...sizes, kvType: 'f16' }, { leads: false, deviceClass: 'cpu' });
}
