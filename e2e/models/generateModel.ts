import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type EncodableValue, encodeEntry, encodeStart, encodeTensor } from '../../electron/gguf/encodeHeader.ts';
import { type GgmlType, ggmlType, tensorBytes } from '../../electron/gguf/ggmlType.ts';
import { openFileReader } from '../../electron/gguf/rangeReader.ts';
import { readHeader } from '../../electron/gguf/readHeader.ts';
import { type RandomTensorType, randomTensor, randomTensorTypes } from './randomTensor.ts';

/** A model of random weights: complete and loadable by llama.cpp, its text without sense but varied. */
export interface RandomModel {
  architecture: 'llama' | 'qwen2' | 'qwen3';
  layers: number;
  /** n_embd. */
  width: number;
  heads: number;
  kvHeads: number;
  /** Width of a head; width / heads where it is left out. */
  headLength?: number;
  /** n_ff. */
  feedForward: number;
  /** Tokens; at least 260 for a trivial tokenizer. */
  vocabulary: number;
  /** The head is the embedding. */
  tied: boolean;
  /** Equal seeds and shapes give equal files. */
  seed: number;
  /** F32 for all where it is left out; norms and biases are always F32. */
  types?: {
    embedding?: RandomTensorType;
    output?: RandomTensorType;
    attention?: RandomTensorType;
    feedForward?: RandomTensorType;
  };
  /** 2048 where it is left out. */
  contextLength?: number;
  /** Writes head counts and feed-forward lengths as arrays with a value per layer. */
  perLayerArrays?: boolean;
  /** Adds `rope_freqs.weight`, as Llama 3 has it. */
  ropeFactors?: boolean;
  /** `pooling_type`, as embedding models name it: 1 is the mean, 3 the last token. */
  pooling?: number;
  /** Scales positions as long-context models do, from a quarter of the context length. */
  yarn?: boolean;
  /** A GGUF of the same vocabulary size whose tokenizer and chat template are copied; else a trivial one is made. */
  tokenizerFrom?: string;
  /** 32 where it is left out. */
  alignment?: number;
  /** Files to split it into, named as llama.cpp does; 1 where it is left out. */
  shards?: number;
}

export interface NamedTensor {
  name: string;
  type: GgmlType;
  dimensions: number[];
  /** Standard deviation of the values. */
  deviation: number;
  mean: number;
}

/** Writes a random model to `path` (which ends in .gguf) and resolves to its files, the first one first. */
export async function generateModel(path: string, model: RandomModel): Promise<string[]> {
  const shards = model.shards ?? 1;
  const tensors = tensorsOf(model);
  const metadata = await metadataOf(model);
  await mkdir(dirname(path), { recursive: true });
  if (shards === 1) {
    await writeModelFile(path, model, metadata, tensors);
    return [path];
  }
  const files: string[] = [];
  for (let shard = 0; shard < shards; shard++) {
    const digits = (value: number) => String(value).padStart(5, '0');
    const file = path.replace(/\.gguf$/, `-${digits(shard + 1)}-of-${digits(shards)}.gguf`);
    const part = (index: number) => Math.round((tensors.length * index) / shards);
    const split = new Map<string, EncodableValue>([
      ['split.no', { type: 'u16', value: shard }],
      ['split.count', { type: 'u16', value: shards }],
      ['split.tensors.count', { type: 'i32', value: tensors.length }],
    ]);
    const entries = [...split].map(([key, value]) => encodeEntry(key, value));
    const own = shard === 0 ? [...metadata, ...entries] : [...entries, ...alignmentOf(model)];
    await writeModelFile(file, model, own, tensors.slice(part(shard), part(shard + 1)));
    files.push(file);
  }
  return files;
}

/** Writes one GGUF of metadata entries and random tensors. */
export async function writeModelFile(
  path: string,
  { seed, alignment = 32 }: Pick<RandomModel, 'seed' | 'alignment'>,
  metadata: readonly Uint8Array[],
  tensors: readonly NamedTensor[],
): Promise<void> {
  const padded = (bytes: number) => Math.ceil(bytes / alignment) * alignment;
  const sizes = tensors.map(({ type, dimensions }) => {
    const bytes = tensorBytes(type, dimensions);
    if (bytes === null) throw new RangeError(`${dimensions.join(' x ')} is no shape for ${type.name}`);
    return bytes;
  });
  let offset = 0;
  const lines = tensors.map(({ name, type, dimensions }, index) => {
    const line = encodeTensor({ name, type: type.id, dimensions, offset });
    offset += padded(sizes[index] ?? 0);
    return line;
  });
  const header = Buffer.concat([encodeStart(tensors.length, metadata.length), ...metadata, ...lines]);
  const file = await open(path, 'w');
  try {
    await writePadded(file, [header], padded(header.byteLength) - header.byteLength);
    for (const [index, tensor] of tensors.entries()) {
      const size = sizes[index] ?? 0;
      await writePadded(file, randomTensor(`${seed} ${tensor.name}`, { ...tensor, bytes: size }), padded(size) - size);
    }
  } finally {
    await file.close();
  }
}

async function writePadded(file: FileHandle, chunks: Iterable<Uint8Array>, padding: number): Promise<void> {
  for (const chunk of chunks) await file.writeFile(chunk);
  if (padding > 0) await file.writeFile(new Uint8Array(padding));
}

export function typeNamed(name: RandomTensorType): GgmlType {
  const type = ggmlType(randomTensorTypes[name]);
  if (type === undefined) throw new RangeError(`no ggml type is named ${name}`);
  return type;
}

function headLengthOf({ headLength, width, heads }: RandomModel): number {
  return headLength ?? width / heads;
}

function tensorsOf(model: RandomModel): NamedTensor[] {
  const { architecture, layers, width, heads, kvHeads, feedForward, vocabulary, types = {} } = model;
  const head = headLengthOf(model);
  /** Keeps the scale of what goes through it, times `gain`. */
  const matrix = (name: string, type: RandomTensorType, columns: number, rows: number, gain = 1): NamedTensor => {
    return { name, type: typeNamed(type), dimensions: [columns, rows], deviation: gain / Math.sqrt(columns), mean: 0 };
  };
  const vector = (name: string, length: number, mean: number): NamedTensor => {
    return { name, type: typeNamed('F32'), dimensions: [length], deviation: 0.1, mean };
  };
  const tensors = [
    // Small, or a tied head would mostly answer with the token that it was given.
    matrix('token_embd.weight', types.embedding ?? 'F32', width, vocabulary, 0.5),
    vector('output_norm.weight', width, 1),
  ];
  if (!model.tied) tensors.push(matrix('output.weight', types.output ?? 'F32', width, vocabulary, 2));
  if (model.ropeFactors) tensors.push({ ...vector('rope_freqs.weight', head / 2, 4), deviation: 1 });
  const attention = types.attention ?? 'F32';
  const forward = types.feedForward ?? 'F32';
  for (let layer = 0; layer < layers; layer++) {
    const name = (part: string) => `blk.${layer}.${part}`;
    tensors.push(
      vector(name('attn_norm.weight'), width, 1),
      matrix(name('attn_q.weight'), attention, width, heads * head, 2.5),
      matrix(name('attn_k.weight'), attention, width, kvHeads * head, 2.5),
      matrix(name('attn_v.weight'), attention, width, kvHeads * head),
      matrix(name('attn_output.weight'), attention, heads * head, width),
      vector(name('ffn_norm.weight'), width, 1),
      matrix(name('ffn_gate.weight'), forward, width, feedForward),
      matrix(name('ffn_up.weight'), forward, width, feedForward),
      matrix(name('ffn_down.weight'), forward, feedForward, width),
    );
    if (architecture === 'qwen2') {
      tensors.push(
        vector(name('attn_q.bias'), heads * head, 0),
        vector(name('attn_k.bias'), kvHeads * head, 0),
        vector(name('attn_v.bias'), kvHeads * head, 0),
      );
    }
    if (architecture === 'qwen3') {
      tensors.push(vector(name('attn_q_norm.weight'), head, 2), vector(name('attn_k_norm.weight'), head, 2));
    }
  }
  return tensors;
}

function alignmentOf({ alignment }: RandomModel): Buffer[] {
  return alignment === undefined ? [] : [encodeEntry('general.alignment', { type: 'u32', value: alignment })];
}

async function metadataOf(model: RandomModel): Promise<Uint8Array[]> {
  const { architecture, layers, width, heads, kvHeads, feedForward, vocabulary } = model;
  const head = headLengthOf(model);
  const count = (value: number): EncodableValue => ({ type: 'u32', value });
  const perLayer = (value: number): EncodableValue =>
    model.perLayerArrays
      ? { type: 'array', element: 'i32', values: new Array<number>(layers).fill(value) }
      : count(value);
  const own: [string, EncodableValue][] = [
    ['context_length', count(model.contextLength ?? 2048)],
    ['embedding_length', count(width)],
    ['block_count', count(layers)],
    ['feed_forward_length', perLayer(feedForward)],
    ['attention.head_count', perLayer(heads)],
    ['attention.head_count_kv', perLayer(kvHeads)],
    ['attention.key_length', count(head)],
    ['attention.value_length', count(head)],
    ['attention.layer_norm_rms_epsilon', { type: 'f32', value: 1e-5 }],
    ['rope.freq_base', { type: 'f32', value: 10000 }],
    ['rope.dimension_count', count(head)],
    ['vocab_size', count(vocabulary)],
  ];
  if (model.pooling !== undefined) own.push(['pooling_type', count(model.pooling)]);
  if (model.yarn) {
    own.push(
      ['rope.scaling.type', { type: 'string', value: 'yarn' }],
      ['rope.scaling.factor', { type: 'f32', value: 4 }],
      ['rope.scaling.original_context_length', count((model.contextLength ?? 2048) / 4)],
    );
  }
  return [
    encodeEntry('general.architecture', { type: 'string', value: architecture }),
    encodeEntry('general.name', { type: 'string', value: `random ${architecture} ${model.seed}` }),
    ...alignmentOf(model),
    ...own.map(([key, value]) => encodeEntry(`${architecture}.${key}`, value)),
    ...(model.tokenizerFrom === undefined
      ? trivialTokenizer(vocabulary)
      : await copiedTokenizer(model.tokenizerFrom, vocabulary)),
  ];
}

/** SentencePiece form: the three usual control tokens, every byte, then made-up words. */
function trivialTokenizer(vocabulary: number): Uint8Array[] {
  const control = ['<unk>', '<s>', '</s>'];
  const firstWord = control.length + 256;
  if (vocabulary <= firstWord) throw new RangeError(`a trivial tokenizer needs more than ${firstWord} tokens`);
  const hex = (byte: number) => byte.toString(16).toUpperCase().padStart(2, '0');
  const tokens = Array.from({ length: vocabulary }, (_, token) => {
    if (token < control.length) return control[token] ?? '';
    return token < firstWord ? `<0x${hex(token - control.length)}>` : `\u2581w${token}`;
  });
  // Types: 2 unknown, 3 control, 6 byte, 1 normal.
  const types = tokens.map((_, token) => (token === 0 ? 2 : token < control.length ? 3 : token < firstWord ? 6 : 1));
  const entries: [string, EncodableValue][] = [
    ['model', { type: 'string', value: 'llama' }],
    ['tokens', { type: 'array', element: 'string', values: tokens }],
    ['scores', { type: 'array', element: 'f32', values: tokens.map((_, token) => -token) }],
    ['token_type', { type: 'array', element: 'i32', values: types }],
    ['unknown_token_id', { type: 'u32', value: 0 }],
    ['bos_token_id', { type: 'u32', value: 1 }],
    ['eos_token_id', { type: 'u32', value: 2 }],
    ['add_bos_token', { type: 'bool', value: false }],
  ];
  return entries.map(([key, value]) => encodeEntry(`tokenizer.ggml.${key}`, value));
}

async function copiedTokenizer(path: string, vocabulary: number): Promise<Uint8Array[]> {
  const reader = await openFileReader(path);
  try {
    const { metadata } = await readHeader(reader);
    const tokens = metadata.get('tokenizer.ggml.tokens');
    const found = tokens?.type === 'array' ? tokens.count : 0;
    if (found !== vocabulary) throw new RangeError(`the tokenizer of ${path} has ${found} tokens, not ${vocabulary}`);
    const entries: Uint8Array[] = [];
    for (const { key, offset, byteLength } of metadata.entries()) {
      if (!key.startsWith('tokenizer.')) continue;
      const bytes = new Uint8Array(byteLength);
      await reader.read(offset, bytes);
      entries.push(bytes);
    }
    return entries;
  } finally {
    await reader.close();
  }
}
