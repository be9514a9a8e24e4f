import type { ModelShape } from '../../planner/modelShape.ts';

/** Whether the KV of a sequence can be cut anywhere: a recurrent state cannot. */
export function rewinds({ layers }: Pick<ModelShape, 'layers'>): boolean {
  return layers.every(({ stateBytesPerSlot = 0 }) => stateBytesPerSlot === 0);
}
