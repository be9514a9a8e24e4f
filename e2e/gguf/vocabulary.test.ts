import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getLlama, type Llama, LlamaLogLevel } from 'node-llama-cpp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openModel } from '../../electron/gguf/openModel.ts';
import { writeVocabulary } from '../../electron/gguf/writeVocabulary.ts';
import { generateModel } from '../models/generateModel.ts';

const demo = join(import.meta.dirname, '..', '..', 'resources', 'demo', 'demo.gguf');
const text = 'What is a hop? <|im_start|>user\nZoë zählt 3 Hüpfer 🐸<|im_end|>';

let folder: string;
let llama: Llama;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-vocabulary-'));
  // It first tries to size the model, and would complain that there are no weights.
  llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel: LlamaLogLevel.disabled });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function tokens(path: string): Promise<number[]> {
  const model = await llama.loadModel({ modelPath: path, gpuLayers: 0, vocabOnly: true });
  try {
    return [...model.tokenize(text, true)];
  } finally {
    await model.dispose();
  }
}

it('a file of metadata alone tokenizes as the model does, one in shards too', async () => {
  const expected = await tokens(demo);
  expect(expected.length).toBeGreaterThan(10);
  const alone = join(folder, 'alone.gguf');
  await writeVocabulary(await openModel(demo), alone);
  expect((await stat(alone)).size).toBeLessThan(100_000);
  expect(await tokens(alone)).toEqual(expected);

  const shape = { layers: 2, width: 32, heads: 2, kvHeads: 1, feedForward: 32, vocabulary: 1536, tied: true } as const;
  const random = { architecture: 'qwen3', ...shape, seed: 1, tokenizerFrom: demo, shards: 2 } as const;
  const [, second = ''] = await generateModel(join(folder, 'random.gguf'), random);
  const fromShards = join(folder, 'fromShards.gguf');
  const source = await openModel(second);
  expect(source.summary.chatTemplate).toContain('<|im_start|>');
  await writeVocabulary(source, fromShards);
  expect(await tokens(fromShards)).toEqual(expected);
});
