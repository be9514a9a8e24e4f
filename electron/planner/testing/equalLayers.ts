import type { ModelShape } from '../modelShape.ts';

/** A model of equal layers of a few bytes each, without KV or anything else, that may be cut anywhere. */
export function equalLayers(layers: number, weightBytes = 1): ModelShape {
  return {
    name: 'Tiny',
    architecture: 'llama',
    hiddenSize: 8,
    vocabularySize: 1,
    contextLength: 1,
    layers: Array.from({ length: layers }, () => ({ weightBytes, kvBytesPerToken: 0, slidingWindow: null })),
    embeddingBytes: 0,
    outputBytes: 0,
    sharedBytes: 0,
    tiedBytes: 0,
    cutPoints: Array.from({ length: layers - 1 }, (_, index) => index + 1),
    unsplittableReason: null,
  };
}
