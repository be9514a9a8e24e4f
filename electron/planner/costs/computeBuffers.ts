import type { ModelShape } from '../modelShape.ts';
import { slotCells } from './kvCells.ts';
import type { CostSettings } from './settings.ts';

/** Bytes that llama.cpp reserves to compute one step of a stage, beside the logits. */
export interface ComputeBuffers {
  /** With flash attention, as on devices, and on a CPU that keeps its KV cache quantised. */
  flash: number;
  /** Without: the scores of every head lie in memory. */
  plain: number;
}

/** Rows of n_embd floats that live while attention is computed. */
const attentionRows = 6;
/** The same while a feed-forward part is computed, beside the two rows of its own width. */
const feedForwardRows = 8;
/** Feed-forward width in rows of n_embd, and width of a head, where the model does not say. */
const assumedWidening = 4;
const assumedHeadLength = 64;

/**
 * The mask, and the larger of the two phases of a layer, whose buffers overlap. Found by measuring llama.cpp v0.4.0, against
 * which a test holds it; a last stage of one layer takes less, since it computes few rows.
 */
export function computeBuffers(model: ModelShape, settings: CostSettings): ComputeBuffers {
  const { hiddenSize, feedForwardSize, attentionHeads } = model;
  const { batch } = settings;
  const heads = attentionHeads ?? Math.ceil(hiddenSize / assumedHeadLength);
  const feedForward =
    batch * 4 * (feedForwardRows * hiddenSize + 2 * (feedForwardSize ?? assumedWidening * hiddenSize));
  const attention = batch * 4 * attentionRows * hiddenSize;
  const cells = batch * slotCells(settings);
  // The mask lies there all the time, as f32, and for flash attention as f16 too.
  const flash = cells * (4 + 2) + Math.max(feedForward, attention);
  const plain = cells * 4 + Math.max(feedForward, attention + cells * 4 * heads);
  return { flash, plain: settings.kvType === 'f16' ? Math.max(flash, plain) : flash };
}
