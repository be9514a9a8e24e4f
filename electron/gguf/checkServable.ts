import { architectureRules } from './architectures.ts';
import { NotAModelError, oneLine } from './ggufError.ts';
import { knownArchitectures } from './knownArchitectures.ts';
import { layerKinds } from './layerMemory.ts';
import { modelShape } from './modelShape.ts';
import type { ModelSource } from './openModel.ts';
import { layerOf } from './splittability.ts';

/** llama.cpp's LLAMA_MAX_EXPERTS. */
const mostExperts = 1024;
/** More than any model has by far. */
const mostHeads = 65_536;
/** Architectures of which llama.cpp wants the positions in all of each head. */
const turnsWholeHeads = ['llama', 'deci', 'falcon', 'llama-embed'];
const ropeScalings = ['none', 'linear', 'yarn', 'longrope'];
/** As llama-vocab.cpp names them; 'none' is a file without one. */
const tokenizers = ['llama', 'bert', 'gpt2', 'hybriddna', 'whitespace', 't5', 'rwkv', 'plamo2', 'gemma4'];

/**
 * Refuses what llama.cpp would refuse, or end the process for, once it is loaded, and what could then not be asked anything: as
 * far as the header tells. Holds to `load_hparams` of llama-model.cpp and to `load` of llama-vocab.cpp. Throws `NotAModelError`
 * or `MalformedError`, each one plain line.
 */
export function checkServable(model: ModelSource): void {
  const reason =
    hyperparameters(model) ??
    attention(model) ??
    experts(model) ??
    positions(model) ??
    vocabulary(model) ??
    parts(model);
  if (reason !== null) throw new NotAModelError(model.files[0]?.path ?? '', `cannot be served: ${reason}.`);
  modelShape(model);
}

/** A count that llama.cpp reads as 32 bits without a sign; a reason where it is of another type. */
function mistyped({ metadata }: ModelSource, keys: readonly string[]): string | null {
  for (const key of keys) {
    const entry = metadata.get(key);
    if (entry === undefined || entry.type === 'u32') continue;
    const inArray = entry.type === 'array' && (entry.element === 'u32' || entry.element === 'i32');
    if (!inArray) return `'${oneLine(key)}' should be a 32-bit whole number but is a ${entry.type}`;
  }
  return null;
}

function hyperparameters(model: ModelSource): string | null {
  const { architecture, metadata } = model;
  if (!knownArchitectures.has(architecture)) {
    return `this version of Roomful does not know the architecture '${architecture}'`;
  }
  const key = (name: string) => `${architecture}.${name}`;
  for (const name of ['context_length', 'embedding_length']) {
    const value = metadata.count(key(name));
    if (value === undefined) return `it does not say '${key(name)}'`;
    if (value === 0) return `its '${key(name)}' is 0`;
  }
  const perLayer = ['feed_forward_length', 'attention.head_count', 'attention.head_count_kv', 'expert_used_count'];
  const counts = ['context_length', 'embedding_length', 'block_count', 'expert_count', 'vocab_size', ...perLayer];
  const norms = ['attention.layer_norm_rms_epsilon', 'attention.layer_norm_epsilon'];
  return (
    mistyped(model, counts.map(key)) ??
    uneven(model, perLayer.map(key)) ??
    wrongNumbers(model, [...norms, 'rope.scaling.factor'].map(key), 0) ??
    wrongNumbers(model, [key('rope.freq_base')], Number.MIN_VALUE)
  );
}

/** llama.cpp wants as many values as layers. */
function uneven({ metadata, layers }: ModelSource, keys: readonly string[]): string | null {
  for (const key of keys) {
    const entry = metadata.get(key);
    if (entry?.type === 'array' && entry.count !== layers) {
      return `its '${oneLine(key)}' has ${entry.count} values for ${layers} layers`;
    }
  }
  return null;
}

function wrongNumbers({ metadata }: ModelSource, keys: readonly string[], least: number): string | null {
  for (const key of keys) {
    const value = metadata.number(key);
    if (value !== undefined && !(Number.isFinite(value) && value >= least)) return `its '${oneLine(key)}' is ${value}`;
  }
  return null;
}

/** Heads of the layers that attend; the others may have none. */
function attention(model: ModelSource): string | null {
  const { architecture, metadata, layers } = model;
  const key = (name: string) => `${architecture}.attention.${name}`;
  const heads = metadata.perLayer(key('head_count'), layers);
  const kvHeads = metadata.perLayer(key('head_count_kv'), layers) ?? heads;
  const { attending } = layerKinds(model);
  for (const layer of [...attending].sort((a, b) => a - b)) {
    if (layer >= layers) continue;
    const [own = 0, kv = 0] = [heads?.[layer], kvHeads?.[layer]];
    if (own === 0) return `layer ${layer} attends with 0 heads ('${key('head_count')}')`;
    if (own > mostHeads) return `the number of its attention heads must be at most ${mostHeads}, not ${own}`;
    if (kv === 0) return `layer ${layer} attends with 0 KV heads ('${key('head_count_kv')}')`;
    if (own % kv !== 0) return `the ${own} attention heads of layer ${layer} cannot share ${kv} KV heads`;
  }
  for (const name of ['key_length', 'value_length']) {
    if (attending.size > 0 && metadata.count(key(name)) === 0) return `its '${key(name)}' is 0`;
  }
  const width = metadata.count(`${architecture}.embedding_length`) ?? 0;
  const most = Math.max(0, ...(heads ?? []));
  if (attending.size > 0 && metadata.get(key('key_length')) === undefined && most > width) {
    return `a width of ${width} has no room for ${most} attention heads`;
  }
  return null;
}

function experts({ architecture, metadata, layers }: ModelSource): string | null {
  const count = metadata.count(`${architecture}.expert_count`) ?? 0;
  const used = Math.max(0, ...(metadata.perLayer(`${architecture}.expert_used_count`, layers) ?? []));
  if (count > mostExperts) return `it claims ${count} experts, more than ${mostExperts}`;
  if (used > count) return `it claims to use ${used} of ${count} experts`;
  return count > 0 && used === 0 ? `it claims ${count} experts and uses none` : null;
}

function positions({ architecture, metadata, layers }: ModelSource): string | null {
  const key = (name: string) => `${architecture}.${name}`;
  const turned = metadata.count(key('rope.dimension_count'));
  const [heads = 0] = metadata.perLayer(key('attention.head_count'), layers) ?? [];
  const width = metadata.count(key('embedding_length')) ?? 0;
  const headLength = metadata.count(key('attention.key_length')) ?? Math.floor(width / (heads || 1));
  if (turnsWholeHeads.includes(architecture) && heads > 0 && turned !== undefined && turned !== headLength) {
    return `its '${key('rope.dimension_count')}' is ${turned} where its heads are ${headLength} wide`;
  }
  const scaling = metadata.string(`${architecture}.rope.scaling.type`);
  if (scaling !== undefined && !ropeScalings.includes(scaling)) {
    return `its positions are scaled in the unknown way '${oneLine(scaling)}'`;
  }
  return null;
}

function vocabulary({ architecture, metadata, tensors }: ModelSource): string | null {
  const kind = metadata.string('tokenizer.ggml.model');
  const tokens = metadata.get('tokenizer.ggml.tokens');
  if (kind === undefined || kind === 'none' || kind === 'no_vocab') {
    return 'it has no vocabulary, so no text can be put to it; get the whole model';
  }
  if (!tokenizers.includes(kind)) return `its vocabulary is of the unknown kind '${oneLine(kind)}'`;
  if (tokens?.type !== 'array' || tokens.element !== 'string') return 'its vocabulary has no tokens';
  for (const name of ['scores', 'token_type']) {
    const entry = metadata.get(`tokenizer.ggml.${name}`);
    if (entry === undefined) continue;
    if (entry.type !== 'array' || entry.count < tokens.count) {
      return `its vocabulary has ${tokens.count} tokens, and 'tokenizer.ggml.${name}' is not one value for each`;
    }
  }
  if (kind === 'gpt2' || kind === 'gemma4') {
    const merges = metadata.get('tokenizer.ggml.merges');
    const needsNone = metadata.string('tokenizer.ggml.pre') === 'kimi-k2';
    if (!needsNone && (merges?.type !== 'array' || merges.element !== 'string')) return 'its vocabulary has no merges';
  }
  const rows = tensors.get('token_embd.weight')?.dimensions[1];
  if (rows !== undefined && rows !== tokens.count) {
    return `its vocabulary has ${tokens.count} tokens and its embedding ${rows}`;
  }
  const columns = tensors.get('token_embd.weight')?.dimensions[0];
  const width = metadata.count(`${architecture}.embedding_length`);
  return columns !== undefined && columns !== width
    ? `its embedding is ${columns} wide where '${architecture}.embedding_length' is ${width}`
    : null;
}

/** What the layers hold: none beyond the last, and for architectures that are known in detail everything in its shape. */
function parts(model: ModelSource): string | null {
  for (const name of model.tensors.keys()) {
    const layer = layerOf(name);
    if (layer !== null && layer >= model.layers) {
      return `it holds '${oneLine(name)}' but claims ${model.layers} layers`;
    }
  }
  if (architectureRules(model.architecture) === undefined) return null;
  for (const [name, dimensions] of expectedShapes(model)) {
    const found = model.tensors.get(name)?.dimensions;
    if (found === undefined) return `it holds no '${oneLine(name)}'`;
    const shape = found.filter((length, index) => length !== 1 || index < dimensions.length);
    if (shape.length !== dimensions.length || shape.some((length, index) => length !== dimensions[index])) {
      return `its '${oneLine(name)}' has the shape ${found.join(' x ')}, not ${dimensions.join(' x ')}`;
    }
  }
  return null;
}

/** Of the plain transformer, as llama.cpp's llama, qwen2 and qwen3 make it. */
function* expectedShapes({ architecture, metadata, tensors, layers }: ModelSource): Generator<[string, number[]]> {
  const key = (name: string) => `${architecture}.${name}`;
  const width = metadata.count(key('embedding_length')) ?? 0;
  const heads = metadata.perLayer(key('attention.head_count'), layers) ?? [];
  const kvHeads = metadata.perLayer(key('attention.head_count_kv'), layers) ?? heads;
  const feedForward = metadata.perLayer(key('feed_forward_length'), layers) ?? [];
  const headLength = Math.floor(width / (heads[0] || 1));
  const keys = metadata.count(key('attention.key_length')) ?? headLength;
  const values = metadata.count(key('attention.value_length')) ?? headLength;
  const hasExperts = (metadata.count(key('expert_count')) ?? 0) > 0;
  yield ['output_norm.weight', [width]];
  for (let layer = 0; layer < layers; layer++) {
    const part = (name: string) => `blk.${layer}.${name}.weight`;
    const [own = 0, kv = 0, inner = 0] = [heads[layer], kvHeads[layer], feedForward[layer]];
    yield [part('attn_norm'), [width]];
    if (!tensors.has(part('attn_qkv'))) {
      yield [part('attn_q'), [width, own * keys]];
      yield [part('attn_k'), [width, kv * keys]];
      yield [part('attn_v'), [width, kv * values]];
    }
    yield [part('attn_output'), [own * keys, width]];
    yield [part('ffn_norm'), [width]];
    if (hasExperts) continue;
    yield [part('ffn_gate'), [width, inner]];
    yield [part('ffn_up'), [width, inner]];
    yield [part('ffn_down'), [inner, width]];
  }
}
