import type { LayerShape, ModelShape } from '../planner/modelShape.ts';
import { architectureRules } from './architectures.ts';
import { attentionWindows } from './attentionWindows.ts';
import type { ModelSource } from './openModel.ts';
import { layerOf, splittability } from './splittability.ts';

/**
 * What the planner needs to know of a model, from its header alone. Bytes are those of the tensors as the stage files
 * hold them; beside them a stage file has a header, padding, and on all stages but the last two vectors of n_embd floats.
 */
export function modelShape(model: ModelSource, rules = architectureRules(model.architecture)): ModelShape {
  const { architecture, metadata, summary, layers } = model;
  const weights = new Array<number>(layers).fill(0);
  const bytes = { embedding: 0, output: 0, shared: 0 };
  for (const { name, byteLength } of model.tensors.values()) {
    const layer = layerOf(name);
    if (layer !== null && layer < layers) weights[layer] = (weights[layer] ?? 0) + byteLength;
    else bytes[globalPlace(name)] += byteLength;
  }
  const embedding = model.tensors.get('token_embd.weight');
  const lastHoldsIt = !model.tensors.has('output.weight') || rules?.demandsOutput === true;
  const tiedBytes = lastHoldsIt ? (embedding?.byteLength ?? 0) : 0;
  const kv = kvBytesPerToken(model);
  const windows = attentionWindows(architecture, layers, metadata);
  return {
    name: summary.name,
    architecture,
    hiddenSize: embedding?.dimensions[0] ?? metadata.count(`${architecture}.embedding_length`) ?? 0,
    vocabularySize: embedding?.dimensions[1] ?? metadata.count(`${architecture}.vocab_size`) ?? 0,
    contextLength: summary.contextLength ?? 0,
    layers: weights.map(
      (weightBytes, layer): LayerShape => ({
        weightBytes,
        kvBytesPerToken: kv[layer] ?? 0,
        slidingWindow: windows[layer] ?? null,
      }),
    ),
    embeddingBytes: bytes.embedding,
    outputBytes: bytes.output + tiedBytes,
    sharedBytes: bytes.shared,
    tiedBytes,
    ...splittability(model, rules),
  };
}

function globalPlace(name: string): 'embedding' | 'output' | 'shared' {
  if (/^(token_embd|token_types|position_embd|per_layer_)/.test(name)) return 'embedding';
  return /^(output|cls)/.test(name) ? 'output' : 'shared';
}

/**
 * KV bytes of each layer per token at f16, as llama.cpp allocates them: (key length + value length) x KV heads x 2. With
 * latent attention (MLA) it keeps the keys alone; recurrent layers and those that share another's KV keep none.
 */
function kvBytesPerToken(model: ModelSource): number[] {
  const { architecture, layers, metadata } = model;
  const key = (name: string) => `${architecture}.attention.${name}`;
  const heads = metadata.perLayer(key('head_count'), layers) ?? [];
  const kvHeads = metadata.perLayer(key('head_count_kv'), layers) ?? heads;
  const width = metadata.count(`${architecture}.embedding_length`) ?? 0;
  const headLength = heads[0] ? Math.floor(width / heads[0]) : 0;
  const keyLength = metadata.count(key('key_length')) ?? headLength;
  const valueLength = metadata.count(key('value_length')) ?? headLength;
  const keyLengthInWindow = metadata.count(key('key_length_swa')) ?? keyLength;
  const valueLengthInWindow = metadata.count(key('value_length_swa')) ?? valueLength;
  const latent = (metadata.count(key('key_length_mla')) ?? 0) > 0;
  const windows = attentionWindows(architecture, layers, metadata);
  const own = ownKvLayers(model);
  const attends = attendingLayers(model);
  return Array.from({ length: layers }, (_, layer) => {
    if (!attends.has(layer) || layer >= own) return 0;
    const inWindow = windows[layer] !== null;
    const keys = inWindow ? keyLengthInWindow : keyLength;
    const values = latent ? 0 : inWindow ? valueLengthInWindow : valueLength;
    return (keys + values) * (kvHeads[layer] ?? 0) * 2;
  });
}

/** Layers from the first on that have KV of their own; the rest reuse it. */
function ownKvLayers({ architecture, layers, metadata }: ModelSource): number {
  // llama.cpp knows this one by heart: 20 layers of gemma3n keep KV.
  if (architecture === 'gemma3n') return Math.min(20, layers);
  return layers - (metadata.count(`${architecture}.attention.shared_kv_layers`) ?? 0);
}

/** Layers with attention: those that hold key weights, alone or fused where no recurrent part shares the layer. */
function attendingLayers({ tensors }: ModelSource): Set<number> {
  const attending = new Set<number>();
  const fused = new Set<number>();
  const recurrent = new Set<number>();
  for (const name of tensors.keys()) {
    const layer = layerOf(name);
    if (layer === null) continue;
    const part = name.slice(name.indexOf('.', 4) + 1);
    if (/^attn_k(_b|v_a_mqa|v_b)?\.weight$/.test(part)) attending.add(layer);
    else if (part === 'attn_qkv.weight') fused.add(layer);
    else if (/^(ssm_|time_mix_|shortconv)/.test(part)) recurrent.add(layer);
  }
  for (const layer of fused) if (!recurrent.has(layer)) attending.add(layer);
  return attending;
}
