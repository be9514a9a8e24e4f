import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cutStage } from '../../electron/gguf/cutStage.ts';
import { type ModelSource, openModel } from '../../electron/gguf/openModel.ts';
import { thisMachine } from '../../electron/stage/librariesFolder.ts';
import { loadAddon } from '../../electron/stage/loadAddon.ts';
import type { NativeAddon } from '../../electron/stage/nativeAddon.ts';
import { generateModel, type RandomModel } from '../models/generateModel.ts';
import { Judge } from '../testing/judge.ts';
import { StageChain } from '../testing/stageChain.ts';

/** Every entry of the table of architectures has its models here; without one it may not be in the table. */
const models: [name: string, model: Partial<RandomModel> & Pick<RandomModel, 'architecture' | 'tied'>][] = [
  ['llama, tied, f32', { architecture: 'llama', tied: true }],
  ['llama, untied, f32, in shards', { architecture: 'llama', tied: false, shards: 3 }],
  [
    'llama, tied, rope factors, arrays per layer, Q8_0',
    { architecture: 'llama', tied: true, ropeFactors: true, perLayerArrays: true, types: all('Q8_0') },
  ],
  ['llama, untied, rope factors, Q4_0', { architecture: 'llama', tied: false, ropeFactors: true, types: all('Q4_0') }],
  ['llama, tied, F16, alignment 64', { architecture: 'llama', tied: true, types: all('F16'), alignment: 64 }],
  ['qwen2, tied, f32', { architecture: 'qwen2', tied: true }],
  [
    'qwen2, untied, Q8_0 with a Q4_0 head',
    { architecture: 'qwen2', tied: false, types: { ...all('Q8_0'), output: 'Q4_0' } },
  ],
  [
    'qwen2, untied, Q4_0, yarn',
    { architecture: 'qwen2', tied: false, types: all('Q4_0'), yarn: true, contextLength: 256 },
  ],
  ['qwen3, tied, Q8_0, wide heads', { architecture: 'qwen3', tied: true, headLength: 32, types: all('Q8_0') }],
  ['qwen3, untied, f32', { architecture: 'qwen3', tied: false }],
];

function all(type: 'F16' | 'Q4_0' | 'Q8_0'): NonNullable<RandomModel['types']> {
  return { embedding: type, output: type, attention: type, feedForward: type };
}

const layers = 4;
/** Every way to make one, two or three stages of four layers; the first layers of the later stages. */
const cuts: number[][] = [[], [1], [2], [3], [1, 2], [1, 3], [2, 3]];
const options = { contextLength: 256, batch: 32 };
const answerTokens = 48;
/** Short, as long as a step, and of several steps. */
const prompts = [3, 32, 75].map((length, salt) =>
  Array.from({ length }, (_, at) => 3 + ((at * 37 + salt * 101) % 500)),
);

let folder: string;
let addon: NativeAddon;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-exact-'));
  // The judge's variant, whatever else this machine could load.
  addon = loadAddon({ ...thisMachine, env: { ...process.env, ROOMFUL_BACKEND: 'cpu' } }).addon;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function stagesOf(source: ModelSource, starts: readonly number[]) {
  const [first] = source.files;
  if (first === undefined) throw new Error('a model has a file');
  if (starts.length === 0) return [{ path: first.path, role: 'whole' as const, layers, embedding: null }];
  const edges = [0, ...starts, layers];
  return Promise.all(
    edges.slice(0, -1).map((start, index) => {
      const end = edges[index + 1] ?? layers;
      return cutStage(source, { start, end }, join(folder, `${starts.join('-')}-from-${start}.gguf`));
    }),
  );
}

describe.each(models)('%s', (name, model) => {
  let source: ModelSource;
  const expected: number[][] = [];

  beforeAll(async () => {
    const shape = { layers, width: 64, heads: 4, kvHeads: 2, feedForward: 128, vocabulary: 512, seed: 7 };
    const path = join(folder, `${name.replaceAll(/\W+/g, '-')}.gguf`);
    const [first = ''] = await generateModel(path, { ...shape, ...model });
    source = await openModel(first);
    const judge = await Judge.open(first, options);
    for (const prompt of prompts) expected.push(await judge.greedy(prompt, answerTokens));
    await judge.close();
  });

  it('says something that a wrong cut would change', () => {
    for (const answer of expected) {
      expect(answer).toHaveLength(answerTokens);
      expect(new Set(answer).size).toBeGreaterThan(10);
    }
    expect(new Set(expected.map(String)).size).toBe(prompts.length);
  });

  it.each(cuts.map((starts) => [starts]))('answers like the whole model when stages begin at %j', async (starts) => {
    const chain = await StageChain.load(addon, await stagesOf(source, starts), options);
    try {
      for (const [index, prompt] of prompts.entries()) {
        expect(await chain.greedy(prompt, answerTokens)).toEqual(expected[index]);
      }
    } finally {
      await chain.unload();
    }
  });
});
