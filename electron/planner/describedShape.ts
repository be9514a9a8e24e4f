import type { ModelShape } from './modelShape.ts';

/** A model by the numbers of its file, as `resources/models.json` has them; layers are taken to be equal. */
export interface DescribedModel {
  name: string;
  /** Of the file. */
  bytes: number;
  parameters: number;
  architecture: string;
  layers: number;
  hiddenSize: number;
  vocabularySize: number;
  contextLength: number;
  attentionHeads: number;
  feedForwardSize: number;
  embeddingBytes: number;
  /** The head; where it is the embedding, as large as that. */
  outputBytes: number;
  tied?: boolean | undefined;
  /** Of K and V of one layer, at f16. */
  kvBytesPerToken: number;
  experts?: { count: number; usedPerToken: number; share: number } | undefined;
  /** Stages begin at multiples of this many layers. */
  cutEvery?: number | undefined;
}

/** What the planner needs of a model that nobody has yet. */
export function describedShape(model: DescribedModel): ModelShape {
  const { name, architecture, hiddenSize, vocabularySize, contextLength, attentionHeads, feedForwardSize } = model;
  const { layers, embeddingBytes, outputBytes, tied = false, kvBytesPerToken, experts, cutEvery = 1 } = model;
  const beside = tied ? embeddingBytes : embeddingBytes + outputBytes;
  const weightBytes = Math.floor((model.bytes - beside) / layers);
  const expertBytes = experts === undefined ? 0 : Math.floor(weightBytes * experts.share);
  const layer = { weightBytes, kvBytesPerToken, slidingWindow: null, expertBytes };
  return {
    name,
    architecture,
    hiddenSize,
    vocabularySize,
    contextLength,
    attentionHeads,
    feedForwardSize,
    parameters: model.parameters,
    layers: Array.from({ length: layers }, () => layer),
    embeddingBytes,
    outputBytes,
    sharedBytes: 0,
    tiedBytes: tied ? embeddingBytes : 0,
    cutPoints: Array.from({ length: Math.ceil(layers / cutEvery) - 1 }, (_, index) => (index + 1) * cutEvery),
    unsplittableReason: null,
    experts: experts === undefined ? null : { count: experts.count, usedPerToken: experts.usedPerToken },
  };
}
