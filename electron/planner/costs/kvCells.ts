import type { LayerShape } from '../modelShape.ts';
import type { CostSettings } from './settings.ts';

/** llama.cpp pads the cells of a slot to this (`GGML_PAD(n_ctx_seq, 256)` in llama-context.cpp). */
const cellPadding = 256;

/** Cells as llama.cpp rounds them up. */
export function padded(cells: number): number {
  return Math.ceil(cells / cellPadding) * cellPadding;
}

/** Cells of one slot: every slot has as many for itself. */
export function slotCells({ contextLength, slots }: Pick<CostSettings, 'contextLength' | 'slots'>): number {
  return padded(Math.floor(padded(contextLength) / slots));
}

/** Cells of the KV cache that a layer has in all slots together. */
export function kvCells(layer: LayerShape, settings: CostSettings): number {
  const full = slotCells(settings);
  if (settings.swaFull || layer.slidingWindow === null) return settings.slots * full;
  // llama-kv-cache-iswa.cpp: min(size_base, n_swa + n_ubatch), padded.
  return settings.slots * padded(Math.min(full, layer.slidingWindow + settings.batch));
}
