import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EncodableValue } from './encodeHeader.ts';
import { modelShape } from './modelShape.ts';
import { openModel } from './openModel.ts';
import { ggufBytes } from './testing/ggufBytes.ts';
import { temporaryFolder } from './testing/temporaryFolder.ts';

const folder = temporaryFolder();
beforeAll(folder.make);
afterAll(folder.remove);

let made = 0;
/** The shape of a model from its metadata and, for each layer, the names of its tensors. */
async function shapeOf(architecture: string, metadata: Record<string, number | number[]>, layers: string[][]) {
  const encoded = (value: number | number[]): EncodableValue =>
    typeof value === 'number' ? { type: 'u32', value } : { type: 'array', element: 'i32', values: value };
  const path = folder.at(`shape${made++}.gguf`);
  const bytes = ggufBytes({
    entries: [
      ['general.architecture', { type: 'string', value: architecture }],
      [`${architecture}.block_count`, { type: 'u32', value: layers.length }],
      ...Object.entries(metadata).map(([key, value]) => [`${architecture}.${key}`, encoded(value)] as const),
    ],
    tensors: [
      { name: 'token_embd.weight', dimensions: [8, 4], byteLength: 128 },
      { name: 'output_norm.weight' },
      { name: 'output.weight', dimensions: [8, 4], byteLength: 128 },
      ...layers.flatMap((names, layer) => names.map((name) => ({ name: `blk.${layer}.${name}.weight` }))),
    ],
  });
  await writeFile(path, bytes);
  return modelShape(await openModel(path));
}

const plain = (layers: number) => new Array<string[]>(layers).fill(['attn_k', 'attn_v']);
const heads = { embedding_length: 64, 'attention.head_count': 8 };
const narrow = { embedding_length: 8, 'attention.head_count': 1 };

describe('KV bytes per token', () => {
  const kv = async (...args: Parameters<typeof shapeOf>) =>
    (await shapeOf(...args)).layers.map(({ kvBytesPerToken }) => kvBytesPerToken);

  it('count all heads where none are grouped, at f16', async () => {
    expect(await kv('llama', heads, plain(2))).toEqual([256, 256]);
  });

  it('count grouped heads, per layer too', async () => {
    expect(await kv('llama', { ...heads, 'attention.head_count_kv': 2 }, plain(2))).toEqual([64, 64]);
    expect(await kv('deci', { ...heads, 'attention.head_count_kv': [4, 0, 1] }, plain(3))).toEqual([128, 0, 32]);
  });

  it('take key and value lengths from the metadata, others inside windows', async () => {
    const lengths = {
      ...heads,
      'attention.head_count_kv': 2,
      'attention.key_length': 32,
      'attention.value_length': 16,
    };
    expect(await kv('llama', lengths, plain(1))).toEqual([192]);
    const windows = {
      ...lengths,
      'attention.key_length_swa': 8,
      'attention.value_length_swa': 8,
      'attention.sliding_window': 512,
      'attention.sliding_window_pattern': [1, 0],
    };
    expect(await kv('gemma4', windows, plain(2))).toEqual([64, 192]);
  });

  it('are none for recurrent layers, and for layers that share the KV of others', async () => {
    const hybrid = [['ssm_in', 'attn_qkv'], ['attn_k'], ['shortconv.in_proj'], ['attn_qkv']];
    expect(await kv('qwen3next', heads, hybrid)).toEqual([0, 256, 0, 256]);
    expect(await kv('gemma4', { ...heads, 'attention.shared_kv_layers': 2 }, plain(3))).toEqual([256, 0, 0]);
  });

  it('are the keys alone with latent attention', async () => {
    const latent = {
      ...heads,
      'attention.head_count_kv': 1,
      'attention.key_length': 576,
      'attention.value_length': 512,
      'attention.key_length_mla': 192,
      'attention.value_length_mla': 128,
    };
    expect(await kv('deepseek2', latent, [['attn_kv_a_mqa', 'attn_k_b']])).toEqual([1152]);
  });
});

describe('windows of attention', () => {
  const windows = async (architecture: string, layers: number, metadata: Record<string, number | number[]>) =>
    (await shapeOf(architecture, { ...heads, ...metadata }, plain(layers))).layers.map((layer) => layer.slidingWindow);
  const window = { 'attention.sliding_window': 512 };

  it.each<[string, string, number, Record<string, number | number[]>, (number | null)[]]>([
    ['ignored where llama.cpp ignores them', 'llama', 2, window, [null, null]],
    ['in a period of its own architecture', 'gemma3', 7, window, [512, 512, 512, 512, 512, null, 512]],
    ['of a length known by heart', 'gemma2', 3, {}, [4096, null, 4096]],
    [
      'in a period that the metadata names',
      'gemma3',
      3,
      { ...window, 'attention.sliding_window_pattern': 2 },
      [512, null, 512],
    ],
    ['with the full layer first', 'smallthinker', 5, window, [null, 4096, 4096, 4096, null]],
    ['none where the metadata names none', 'gemma3', 2, {}, [null, null]],
    [
      'by flags where llama.cpp reads them',
      'mimo2',
      3,
      { ...window, 'attention.sliding_window_pattern': [0, 1, 1] },
      [null, 512, 512],
    ],
    [
      'by period where it does not',
      'gpt-oss',
      3,
      { ...window, 'attention.sliding_window_pattern': [0, 0, 1] },
      [512, null, 512],
    ],
    ['only for the size that has them', 'exaone4', 4, window, [null, null, null, null]],
  ])('%s', async (_, architecture, layers, metadata, expected) => {
    expect(await windows(architecture, layers, metadata)).toEqual(expected);
  });
});

it('recurrent state per slot is what llama.cpp keeps', async () => {
  const states = async (...args: Parameters<typeof shapeOf>) =>
    (await shapeOf(...args)).layers.map(({ stateBytesPerSlot }) => stateBytesPerSlot);
  const mamba = { 'ssm.state_size': 16, 'ssm.inner_size': 128, 'ssm.conv_kernel': 4, 'ssm.group_count': 2 };
  expect(await states('falcon-h1', { ...heads, ...mamba }, [['ssm_in', 'attn_k'], ['attn_k']])).toEqual([
    4 * (3 * (128 + 2 * 2 * 16) + 16 * 128),
    0,
  ]);
  expect(await states('lfm2', { ...heads, 'shortconv.l_cache': 3 }, [['shortconv.in_proj']])).toEqual([4 * 64 * 2]);
  const rwkv = { embedding_length: 64, 'wkv.head_size': 32, token_shift_count: 2 };
  expect(await states('rwkv6', rwkv, [['time_mix_w1']])).toEqual([4 * 64 * 34]);
});

it('experts are counted, and their share of a layer', async () => {
  const mixture = { ...heads, expert_count: 8, expert_used_count: 2 };
  const shape = await shapeOf('qwen3moe', mixture, [['attn_k', 'ffn_up_exps', 'ffn_down_exps', 'ffn_up_shexp']]);
  expect(shape.experts).toEqual({ count: 8, usedPerToken: 2 });
  expect(shape.layers[0]).toMatchObject({ weightBytes: 128, expertBytes: 64 });
  expect((await shapeOf('llama', heads, plain(1))).experts).toBeNull();
});

describe('bytes', () => {
  it('are summed per layer, and by the stage that holds them', async () => {
    const shape = await shapeOf('llama', narrow, [['attn_k', 'attn_v'], ['attn_k']]);
    expect(shape).toMatchObject({
      architecture: 'llama',
      hiddenSize: 8,
      vocabularySize: 4,
      embeddingBytes: 128,
      outputBytes: 160,
      sharedBytes: 0,
      tiedBytes: 0,
      cutPoints: [1],
      unsplittableReason: null,
    });
    expect(shape.layers.map(({ weightBytes }) => weightBytes)).toEqual([64, 32]);
  });
});
