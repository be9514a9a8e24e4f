import type { LayerShape, ModelShape } from '../modelShape.ts';
import { computeBuffers } from './computeBuffers.ts';
import { kvCells, padded } from './kvCells.ts';
import type { CostSettings } from './settings.ts';

/** Bytes that a range of layers takes, by kind. */
export interface RangeBytes {
  weights: number;
  /** Token embedding, on the first stage. */
  embedding: number;
  /** Output norm and head, on the last stage. */
  output: number;
  /** KV cache and recurrent state as llama.cpp allocates them. */
  kv: number;
  /** Buffers of the computation, with the logits on the last stage. */
  compute: number;
}

/** Costs of any range of layers of one model, in constant time. */
export interface RangeCosts {
  layerCount: number;
  /** Where a stage may begin or end: 0, the cut points and the number of layers. */
  boundaries: readonly number[];
  /** Bytes of layers [start, end) on the member that holds them, if it computes with flash attention. */
  bytes(start: number, end: number): number;
  bytesByKind(start: number, end: number): RangeBytes;
  /** What a stage takes beside that on a CPU, which computes without. */
  plainAttentionBytes: number;
  /** Bytes read to compute one step of `sequences` sequences. */
  read(start: number, end: number, sequences: number): number;
  /** The part of the weights that lies in expert tensors. */
  expertBytes(start: number, end: number): number;
  /** The part of the experts that one token reads. */
  expertFraction: number;
  /** Floating-point operations for one token. */
  operations(start: number, end: number): number;
}

/** Bytes of a q8_0 element against one of f16: a block of 32 takes 34 bytes. */
const q8Fraction = 34 / 64;
/** Bits of a weight where the number of weights is unknown, about those of Q4_K_M. */
const assumedBitsPerWeight = 4.5;

function prefixSums(layers: readonly LayerShape[], value: (layer: LayerShape) => number): Float64Array {
  const sums = new Float64Array(layers.length + 1);
  layers.forEach((layer, index) => {
    sums[index + 1] = (sums[index] ?? 0) + value(layer);
  });
  return sums;
}

/** Bytes of all weights, each counted once. */
export function fileBytes(model: ModelShape): number {
  const { layers, embeddingBytes, outputBytes, sharedBytes, tiedBytes = 0 } = model;
  return layers.reduce(
    (sum, { weightBytes }) => sum + weightBytes,
    embeddingBytes + outputBytes + sharedBytes - tiedBytes,
  );
}

/**
 * Outputs of a step of whole texts: every row has one, and room for its logits (llama_context::output_reserve), which a
 * model with a head also computes.
 */
function pooledBytes({ hiddenSize, vocabularySize, outputBytes }: ModelShape, { batch, slots }: CostSettings): number {
  // For each text which rows are its own, and for each row its token, place, text and type.
  const rowsOfTexts = batch * (slots + 4) * 4;
  return rowsOfTexts + batch * 4 * (hiddenSize + vocabularySize * (outputBytes > 0 ? 2 : 1));
}

/** Prepares the costs of a model that is served with these settings. */
export function rangeCosts(model: ModelShape, settings: CostSettings): RangeCosts {
  const layerCount = model.layers.length;
  const kvFraction = settings.kvType === 'f16' ? 1 : q8Fraction;
  const tokensPerSequence = settings.contextLength / settings.slots / 2;

  const weightSums = prefixSums(model.layers, (layer) => layer.weightBytes);
  const expertSums = prefixSums(model.layers, (layer) => layer.expertBytes ?? 0);
  const wholeTexts = model.textEmbedding?.wholeTexts ?? false;
  const cellsOf = (layer: LayerShape) => (wholeTexts ? padded(settings.batch) : kvCells(layer, settings));
  const kvSums = prefixSums(model.layers, (layer) =>
    Math.ceil(cellsOf(layer) * layer.kvBytesPerToken * kvFraction + (layer.stateBytesPerSlot ?? 0) * settings.slots),
  );
  const kvReadSums = prefixSums(
    model.layers,
    (layer) =>
      Math.min(tokensPerSequence, layer.slidingWindow ?? tokensPerSequence) * layer.kvBytesPerToken * kvFraction +
      (layer.stateBytesPerSlot ?? 0),
  );
  const memorySums = weightSums.map((bytes, index) => bytes + (kvSums[index] ?? 0));

  const buffers = settings.weightsOnly ? { flash: 0, plain: 0 } : computeBuffers(model, settings);
  // Sequences with drafts are computed one after the other, those without together.
  const logitRows = Math.max(settings.slots, settings.draft.tokens + 1);
  const logitBytes = settings.weightsOnly
    ? 0
    : wholeTexts
      ? pooledBytes(model, settings)
      : logitRows * model.vocabularySize * 4;
  const everyStage = model.sharedBytes + buffers.flash;
  const lastStage = model.outputBytes + logitBytes;

  const weightsPerByte =
    model.parameters === undefined ? 8 / assumedBitsPerWeight : model.parameters / fileBytes(model);
  const usedFraction = model.experts ? model.experts.usedPerToken / model.experts.count : 1;

  const between = (sums: Float64Array, start: number, end: number) => (sums[end] ?? 0) - (sums[start] ?? 0);
  const activeSums = weightSums.map((bytes, index) => bytes - (1 - usedFraction) * (expertSums[index] ?? 0));
  const readSums = activeSums.map((bytes, index) => bytes + (kvReadSums[index] ?? 0));
  const outputOf = (end: number) => (end === layerCount ? model.outputBytes : 0);

  return {
    layerCount,
    // A reason to stay whole outweighs cut points.
    boundaries: [0, ...(model.unsplittableReason === null ? model.cutPoints : []), layerCount],
    bytes: (start, end) =>
      between(memorySums, start, end) +
      everyStage +
      (start === 0 ? model.embeddingBytes : 0) +
      (end === layerCount ? lastStage : 0),
    bytesByKind: (start, end) => ({
      weights: between(weightSums, start, end) + model.sharedBytes,
      embedding: start === 0 ? model.embeddingBytes : 0,
      output: outputOf(end),
      kv: between(kvSums, start, end),
      compute: buffers.flash + (end === layerCount ? logitBytes : 0),
    }),
    read: (start, end, sequences) => {
      if (sequences === 1) return between(readSums, start, end) + outputOf(end);
      // Each token picks its own experts, so (1 - used) ^ n of them stay idle.
      const idle = (1 - usedFraction) ** sequences * between(expertSums, start, end);
      return between(weightSums, start, end) - idle + sequences * between(kvReadSums, start, end) + outputOf(end);
    },
    plainAttentionBytes: buffers.plain - buffers.flash,
    expertBytes: (start, end) => between(expertSums, start, end),
    expertFraction: usedFraction,
    operations: (start, end) => 2 * weightsPerByte * (between(activeSums, start, end) + outputOf(end)),
  };
}
