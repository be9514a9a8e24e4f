import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openModel } from '../../electron/gguf/openModel.ts';
import { generateModel, type RandomModel } from './generateModel.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-random-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const model: RandomModel = {
  architecture: 'qwen2',
  layers: 2,
  width: 64,
  heads: 4,
  kvHeads: 2,
  feedForward: 96,
  vocabulary: 300,
  tied: false,
  seed: 1,
  types: { embedding: 'F16', output: 'Q8_0', attention: 'Q4_0' },
};

async function hash(change: Partial<RandomModel>): Promise<string> {
  const [path = ''] = await generateModel(join(folder, 'model.gguf'), { ...model, ...change });
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}

it('makes the same model for the same seed, another for another', async () => {
  const first = await hash({});
  expect(await hash({})).toBe(first);
  expect(await hash({ seed: 2 })).not.toBe(first);
});

it('gives tensors the types, sizes and deviations that were asked for', async () => {
  const [path = ''] = await generateModel(join(folder, 'asked.gguf'), model);
  const { tensors, summary } = await openModel(path);
  const types = new Map([...tensors].map(([name, tensor]) => [name, tensor.type.name]));
  expect(types.get('token_embd.weight')).toBe('F16');
  expect(types.get('output.weight')).toBe('Q8_0');
  expect(types.get('blk.1.attn_q.weight')).toBe('Q4_0');
  expect(types.get('blk.1.ffn_up.weight')).toBe('F32');
  expect(types.get('blk.1.attn_v.bias')).toBe('F32');
  const perLayer = 64 * (2 + 2 * 64 + 2 * 32 + 3 * 96) + 64 + 2 * 32;
  expect(summary.parameters).toBe(2 * perLayer + 2 * 64 * 300 + 64);

  const tensor = tensors.get('blk.0.ffn_down.weight');
  const bytes = (await readFile(path)).subarray(tensor?.offset, (tensor?.offset ?? 0) + (tensor?.byteLength ?? 0));
  const values = new Float32Array(Uint8Array.from(bytes).buffer);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
  expect(mean).toBeCloseTo(0, 2);
  expect(deviation * Math.sqrt(96)).toBeCloseTo(1, 1);
});

it('refuses a tokenizer of another size', async () => {
  await generateModel(join(folder, 'small.gguf'), model);
  const change = { vocabulary: 400, tokenizerFrom: join(folder, 'small.gguf') };
  await expect(generateModel(join(folder, 'large.gguf'), { ...model, ...change })).rejects.toThrow(
    '300 tokens, not 400',
  );
});
