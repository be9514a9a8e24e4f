import { attentionWindows } from './attentionWindows.ts';
import type { ModelSource } from './openModel.ts';
import { layerOf } from './splittability.ts';
import { isCachelessEncoder } from './textEmbedding.ts';

/**
 * KV bytes of each layer per token at f16, as llama.cpp allocates them: (key length + value length) x KV heads x 2. With
 * latent attention (MLA) it keeps the keys alone; recurrent layers, encoders and those that share another's KV keep none.
 */
export function kvBytesPerToken(model: ModelSource): number[] {
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
  const own = isCachelessEncoder(architecture) ? 0 : ownKvLayers(model);
  const { attending } = layerKinds(model);
  return Array.from({ length: layers }, (_, layer) => {
    if (!attending.has(layer) || layer >= own) return 0;
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

/**
 * Bytes of recurrent state of each layer per slot, two f32 tensors as llama.cpp sizes them (`n_embd_r` and `n_embd_s` of
 * llama-hparams.cpp): the Mamba and delta-net family, short convolutions, and RWKV.
 */
export function stateBytesPerSlot(model: ModelSource): number[] {
  const { architecture, layers, metadata } = model;
  const count = (name: string) => metadata.count(`${architecture}.${name}`) ?? 0;
  const width = count('embedding_length');
  const stateSize = count('ssm.state_size');
  const inner = count('ssm.inner_size');
  const kernel = Math.max(count('ssm.conv_kernel') - 1, 0);
  const floats =
    count('wkv.head_size') > 0
      ? width * (count('token_shift_count') + count('wkv.head_size'))
      : count('shortconv.l_cache') > 0
        ? width * (count('shortconv.l_cache') - 1)
        : kernel * (inner + 2 * count('ssm.group_count') * stateSize) + stateSize * inner;
  const { recurrent } = layerKinds(model);
  return Array.from({ length: layers }, (_, layer) => (recurrent.has(layer) ? floats * 4 : 0));
}

/** Which layers attend (they hold key weights, fused ones only where no recurrent part claims them), which are recurrent. */
export function layerKinds({ tensors }: ModelSource): { attending: Set<number>; recurrent: Set<number> } {
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
  return { attending, recurrent };
}
