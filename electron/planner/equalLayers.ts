import type { ModelShape } from './modelShape.ts';

/** A model of equal layers that may be cut anywhere, without KV or anything else beside them. */
export function equalLayers(layers: number, weightBytes: number): ModelShape {
  return {
    name: 'The model',
    architecture: 'unknown',
    hiddenSize: 8,
    vocabularySize: 1,
    contextLength: 1,
    layers: Array.from({ length: layers }, () => ({ weightBytes, kvBytesPerToken: 0, slidingWindow: null })),
    embeddingBytes: 0,
    outputBytes: 0,
    sharedBytes: 0,
    cutPoints: Array.from({ length: layers - 1 }, (_, index) => index + 1),
    unsplittableReason: null,
  };
}
