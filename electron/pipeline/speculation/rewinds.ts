import type { ModelShape } from '../../planner/modelShape.ts';

/** Whether the KV of a sequence can be cut anywhere: a recurrent state cannot, and of whole texts none is kept. */
export function rewinds({ layers, textEmbedding }: Pick<ModelShape, 'layers' | 'textEmbedding'>): boolean {
  if (textEmbedding?.wholeTexts) return false;
  return layers.every(({ stateBytesPerSlot = 0 }) => stateBytesPerSlot === 0);
}
