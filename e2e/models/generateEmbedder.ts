import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type EncodableValue, encodeEntry } from '../../electron/gguf/encodeHeader.ts';
import { type NamedTensor, typeNamed, writeModelFile } from './generateModel.ts';

/** An encoder of random weights that llama.cpp loads: absolute positions (bert), or rotary ones and gates (nomic-bert). */
export interface RandomEmbedder {
  architecture?: 'bert' | 'nomic-bert';
  layers: number;
  /** n_embd. */
  width: number;
  heads: number;
  /** n_ff. */
  feedForward: number;
  contextLength: number;
  /** As `enum llama_pooling_type` has it; left out of the file where it is left out. */
  pooling?: number;
  /** WordPiece where it is left out. */
  tokenizer?: 'wordpiece' | 'unigram';
  /** Equal seeds and shapes give equal files. */
  seed: number;
}

/** The words that the tokenizers of these models know whole. */
export const embedderWords: readonly string[] = ['hop', 'stage', 'token', 'layer', 'bread', 'butter', 'rain', 'falls'];

const letters = [...'abcdefghijklmnopqrstuvwxyz'];
const wordpieceTokens = [
  ...['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'],
  // As llama.cpp's converter writes them: beginnings of words with a mark, what goes on without.
  ...[...embedderWords, ...letters, '.', ',', '?'].map((token) => `\u2581${token}`),
  ...letters,
  ...['s', 'ing'].filter((end) => end.length > 1),
];
const unigramTokens = [
  ...['<s>', '<pad>', '</s>', '<unk>'],
  '\u2581',
  ...embedderWords.map((word) => `\u2581${word}`),
  ...letters,
  ...['.', ',', '?'],
  '<mask>',
];

/** Writes a random encoder to `path` and resolves to it. */
export async function generateEmbedder(path: string, model: RandomEmbedder): Promise<string> {
  const tokens = model.tokenizer === 'unigram' ? unigramTokens : wordpieceTokens;
  await mkdir(dirname(path), { recursive: true });
  await writeModelFile(path, model, metadataOf(model, tokens), tensorsOf(model, tokens.length));
  return path;
}

function tensorsOf(
  { architecture = 'bert', layers, width, feedForward, contextLength }: RandomEmbedder,
  vocabulary: number,
) {
  const type = typeNamed('F32');
  const matrix = (name: string, columns: number, rows: number, gain = 1): NamedTensor => {
    return { name, type, dimensions: [columns, rows], deviation: gain / Math.sqrt(columns), mean: 0 };
  };
  const vector = (name: string, length: number, mean: number): NamedTensor => {
    return { name, type, dimensions: [length], deviation: 0.1, mean };
  };
  const norm = (name: string) => [vector(`${name}.weight`, width, 1), vector(`${name}.bias`, width, 0)];
  const isBert = architecture === 'bert';
  const tensors = [
    matrix('token_embd.weight', width, vocabulary, 4),
    matrix('token_types.weight', width, 2),
    ...(isBert ? [matrix('position_embd.weight', width, contextLength, 2)] : []),
    ...norm('token_embd_norm'),
  ];
  for (let layer = 0; layer < layers; layer += 1) {
    const name = (part: string) => `blk.${layer}.${part}`;
    for (const part of ['attn_q', 'attn_k', 'attn_v', 'attn_output']) {
      // Sharp enough that tokens matter to each other.
      tensors.push(matrix(name(`${part}.weight`), width, width, /[qk]$/.test(part) ? 2 : 1));
      if (isBert) tensors.push(vector(name(`${part}.bias`), width, 0));
    }
    tensors.push(...norm(name('attn_output_norm')), matrix(name('ffn_up.weight'), width, feedForward));
    if (isBert) tensors.push(vector(name('ffn_up.bias'), feedForward, 0), vector(name('ffn_down.bias'), width, 0));
    else tensors.push(matrix(name('ffn_gate.weight'), width, feedForward));
    tensors.push(matrix(name('ffn_down.weight'), feedForward, width), ...norm(name('layer_output_norm')));
  }
  return tensors;
}

function metadataOf(model: RandomEmbedder, tokens: readonly string[]): Uint8Array[] {
  const { architecture = 'bert', layers, width, heads, feedForward, contextLength, pooling, seed, tokenizer } = model;
  const count = (value: number): EncodableValue => ({ type: 'u32', value });
  const text = (value: string): EncodableValue => ({ type: 'string', value });
  const own: [string, EncodableValue][] = [
    ['context_length', count(contextLength)],
    ['embedding_length', count(width)],
    ['block_count', count(layers)],
    ['feed_forward_length', count(feedForward)],
    ['attention.head_count', count(heads)],
    ['attention.layer_norm_epsilon', { type: 'f32', value: 1e-12 }],
    ['attention.causal', { type: 'bool', value: false }],
    ...(pooling === undefined ? [] : [['pooling_type', count(pooling)] satisfies [string, EncodableValue]]),
    ...(architecture === 'bert'
      ? []
      : [['rope.freq_base', { type: 'f32', value: 1000 }] satisfies [string, EncodableValue]]),
  ];
  const isUnigram = tokenizer === 'unigram';
  const at = (token: string) => count(tokens.indexOf(token));
  const special = (token: string) => /^[[<].+[\]>]$/.test(token);
  const control = isUnigram ? ['<s>', '</s>', '<unk>', '<pad>', '</s>'] : ['[CLS]', '[SEP]', '[UNK]', '[PAD]', '[SEP]'];
  const [begin = '', end = '', unknown = '', padding = '', separator = ''] = control;
  const read: [string, EncodableValue][] = [
    ['model', text(isUnigram ? 't5' : 'bert')],
    ['pre', text('default')],
    ['tokens', { type: 'array', element: 'string', values: [...tokens] }],
    [
      'scores',
      { type: 'array', element: 'f32', values: tokens.map((token) => (special(token) ? 0 : -1 / token.length)) },
    ],
    // 3 control, 2 unknown, 1 normal.
    [
      'token_type',
      {
        type: 'array',
        element: 'i32',
        values: tokens.map((token) => (token === unknown ? 2 : special(token) ? 3 : 1)),
      },
    ],
    ['token_type_count', count(2)],
    ['bos_token_id', at(begin)],
    ['eos_token_id', at(end)],
    ['unknown_token_id', at(unknown)],
    ['padding_token_id', at(padding)],
    ['seperator_token_id', at(separator)],
    ['cls_token_id', at(begin)],
    ...(isUnigram
      ? ([
          ['add_bos_token', { type: 'bool', value: true }],
          ['add_eos_token', { type: 'bool', value: true }],
          ['add_space_prefix', { type: 'bool', value: true }],
        ] satisfies [string, EncodableValue][])
      : []),
  ];
  return [
    encodeEntry('general.architecture', text(architecture)),
    encodeEntry('general.name', text(`random ${architecture} ${seed}`)),
    ...own.map(([key, value]) => encodeEntry(`${architecture}.${key}`, value)),
    ...read.map(([key, value]) => encodeEntry(`tokenizer.ggml.${key}`, value)),
  ];
}
