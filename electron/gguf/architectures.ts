import type { LayerRange } from '../planner/stageBytes.ts';
import type { EncodableValue } from './encodeHeader.ts';
import type { ModelSource } from './openModel.ts';

export type { LayerRange };

/**
 * How models of one architecture are cut. An entry is a promise: a test ran a model of it through every kind of cut and
 * found the tokens of the whole model. What a rule does not name is not proven and makes a model unsplittable.
 */
export interface ArchitectureRules {
  /** Tensors of a layer, without the `blk.N.` in front. */
  layerTensors: readonly string[];
  /** Tensors that every stage needs a copy of. */
  sharedTensors: readonly string[];
  /** Tensors of the last stage beside the head and `output_norm.weight`. */
  headTensors: readonly string[];
  /** Metadata that must hold one value for all layers where it is an array. */
  uniform: readonly string[];
  /** A reason why this model of the architecture may not be cut, else null. */
  refuse?: (model: ModelSource) => string | null;
  /** Layers at which a stage may begin, ascending, without 0; every layer where it is left out. */
  cutPoints?: (model: ModelSource) => number[];
  /** What the first stage multiplies looked-up embedding rows by; 1 where it is left out. */
  embeddingScale?: (model: ModelSource) => number;
  /** Metadata of a stage that differs from the model's beyond what every architecture needs. */
  metadata?: (model: ModelSource, range: LayerRange) => ReadonlyMap<string, EncodableValue>;
  /**
   * llama.cpp insists on `output.weight` beside `token_embd.weight`: stages without a head get one of a single row, and
   * the last stage keeps both (the embedding is never touched there).
   */
  demandsOutput?: boolean;
}

const attention = ['attn_norm.weight', 'attn_q.weight', 'attn_k.weight', 'attn_v.weight', 'attn_output.weight'];
const feedForward = ['ffn_norm.weight', 'ffn_gate.weight', 'ffn_up.weight', 'ffn_down.weight'];

function refuseVariants({ metadata, architecture }: ModelSource): string | null {
  const key = (name: string) => `${architecture}.${name}`;
  if ((metadata.count(key('expert_count')) ?? 0) > 0)
    return `'${architecture}' with experts is not proven to be exact in stages`;
  return null;
}

const rules: ReadonlyMap<string, ArchitectureRules> = new Map<string, ArchitectureRules>([
  [
    'llama',
    {
      layerTensors: [...attention, ...feedForward],
      sharedTensors: ['rope_freqs.weight'],
      headTensors: [],
      uniform: ['attention.head_count', 'attention.head_count_kv', 'feed_forward_length'],
      refuse: refuseVariants,
    },
  ],
  [
    'qwen2',
    {
      layerTensors: [...attention, 'attn_q.bias', 'attn_k.bias', 'attn_v.bias', ...feedForward],
      sharedTensors: [],
      headTensors: [],
      uniform: ['attention.head_count', 'attention.head_count_kv', 'feed_forward_length'],
      refuse: refuseVariants,
    },
  ],
  [
    'qwen3',
    {
      layerTensors: [...attention, 'attn_q_norm.weight', 'attn_k_norm.weight', ...feedForward],
      sharedTensors: [],
      headTensors: [],
      uniform: ['attention.head_count', 'attention.head_count_kv', 'feed_forward_length'],
      refuse: refuseVariants,
    },
  ],
]);

/** Cut points for models whose layers repeat a pattern that llama.cpp starts anew in each file. */
export function multiplesOf(period: number, layers: number): number[] {
  const multiples: number[] = [];
  for (let layer = period; layer < layers; layer += period) multiples.push(layer);
  return multiples;
}

/** Every architecture that may be cut. */
export const splittableArchitectures: readonly string[] = [...rules.keys()];

/** The rules of an architecture; undefined for one that serves whole only. */
export function architectureRules(architecture: string): ArchitectureRules | undefined {
  return rules.get(architecture);
}
