import type { Metadata } from './metadata.ts';

/** How llama.cpp decides which layers of an architecture attend to a window only (`load_arch_hparams` of its models). */
interface WindowRule {
  /** Every `period`-th layer is full where the metadata names no other period; null where an array must tell. */
  period: number | null;
  /** The full layer is the first of each period, not the last. */
  fullFirst?: boolean;
  /** Tokens of the window where the metadata names none; without it such a model has no windows. */
  window?: number;
  /** The window is this one whatever the metadata says. */
  fixedWindow?: number;
  /** An array of one flag per layer is read; else an array counts as if it were not there. */
  readsFlags?: boolean;
  /** Only models of this many layers have windows. */
  onlyLayers?: number;
}

const rules: ReadonlyMap<string, WindowRule> = new Map<string, WindowRule>([
  ['afmoe', { period: 4 }],
  ['cohere2', { period: 4 }],
  ['cohere2moe', { period: 4, fullFirst: true, readsFlags: true }],
  ['exaone-moe', { period: 4, window: 128 }],
  ['exaone4', { period: 4, window: 4096, onlyLayers: 64 }],
  ['gemma-embedding', { period: 6 }],
  ['gemma2', { period: 2, window: 4096 }],
  ['gemma3', { period: 6 }],
  ['gemma3n', { period: 5 }],
  ['gemma4', { period: null, readsFlags: true }],
  ['gpt-oss', { period: 2 }],
  ['granite_swa', { period: null, readsFlags: true }],
  ['laguna', { period: 4, fullFirst: true }],
  ['llama4', { period: 4, window: 8192, fixedWindow: 8192 }],
  ['mellum', { period: 4, readsFlags: true }],
  ['mimo2', { period: null, readsFlags: true }],
  ['muse-glimmer', { period: 4, readsFlags: true }],
  ['olmo2', { period: 4 }],
  ['plamo3', { period: 8 }],
  ['smallthinker', { period: 4, fullFirst: true, fixedWindow: 4096 }],
  ['step35', { period: null, readsFlags: true }],
]);

/** Tokens of the attention window of each layer, null for a layer with full attention. */
export function attentionWindows(architecture: string, layers: number, metadata: Metadata): (number | null)[] {
  const full = new Array<number | null>(layers).fill(null);
  const rule = rules.get(architecture);
  if (rule === undefined || (rule.onlyLayers ?? layers) !== layers) return full;
  const named = metadata.count(`${architecture}.attention.sliding_window`) ?? rule.window ?? 0;
  if (named === 0) return full;
  const window = rule.fixedWindow ?? named;
  const flags = windowFlags(architecture, layers, metadata, rule);
  return full.map((_, layer) => (flags(layer) ? window : null));
}

function windowFlags(
  architecture: string,
  layers: number,
  metadata: Metadata,
  rule: WindowRule,
): (layer: number) => boolean {
  const key = `${architecture}.attention.sliding_window_pattern`;
  const isArray = metadata.get(key)?.type === 'array';
  if (isArray && rule.readsFlags) {
    const flags = metadata.perLayer(key, layers) ?? [];
    return (layer) => flags[layer] !== 0;
  }
  const period = (isArray ? undefined : metadata.count(key)) ?? rule.period;
  if (period === null) return () => false;
  if (period === 0) return () => true;
  return rule.fullFirst ? (layer) => layer % period !== 0 : (layer) => layer % period < period - 1;
}
