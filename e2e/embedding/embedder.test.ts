import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type WholeModel, wholeModel } from '../../electron/gateway/testing/wholeModel.ts';
import { unitVector } from '../../electron/gateway/unitVector.ts';
import { generateEmbedder, type RandomEmbedder } from '../models/generateEmbedder.ts';
import { generateModel } from '../models/generateModel.ts';
import { bertVector } from '../testing/bertVector.ts';
import { judgedVectors, vectorDifference } from '../testing/judgedVectors.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-embedder-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const shape = { layers: 2, width: 64, heads: 4, feedForward: 128, contextLength: 96, seed: 7 };
const texts = ['rain falls', 'a hop, a stage and a token.', 'bread and butter? butter and bread', 'x'];
const signal = new AbortController().signal;

async function vectorsOf(model: WholeModel, all: readonly (readonly number[])[]): Promise<number[][]> {
  const vectors = await Promise.all(all.map((tokens) => model.embed({ tokens }, signal)));
  return vectors.map((values) => [...unitVector(values)]);
}

const judged = (path: string, all: readonly (readonly number[])[]): Promise<number[][]> =>
  judgedVectors(path, all, { contextLength: 96, mean: false });

const serve = (path: string, contextLength = 96) => wholeModel(path, { id: 'embedder', contextLength, slots: 4 });
const tokensOf = (model: WholeModel) =>
  Promise.all(texts.map((text) => model.tokenize(text, { addSpecial: true, parseSpecial: false })));

describe.each<[string, Partial<RandomEmbedder>, 'mean' | 'cls' | null]>([
  ['a bert that takes the mean', { pooling: 1 }, 'mean'],
  ['a bert that takes the first token', { pooling: 2 }, 'cls'],
  ['a bert that names no pooling', {}, 'mean'],
  ['a bert of unigrams, as XLM-R has them', { pooling: 2, tokenizer: 'unigram' }, 'cls'],
  ['a bert that takes the last token', { pooling: 3 }, null],
  ['a nomic-bert', { architecture: 'nomic-bert', pooling: 1 }, null],
])('%s', (name, fields, pooling) => {
  it('gives what the plain forward pass and node-llama-cpp give', async () => {
    const path = await generateEmbedder(join(folder, `${name}.gguf`), { ...shape, ...fields });
    const model = await serve(path);
    try {
      expect(model.embedsOnly).toBe(true);
      const all = await tokensOf(model);
      const vectors = await vectorsOf(model, all);
      if (fields.pooling !== undefined) {
        for (const [index, vector] of (await judged(path, all)).entries()) {
          expect(vectorDifference(vectors[index] ?? [], vector)).toBeLessThan(1e-4);
        }
      }
      if (pooling === null) return;
      for (const [index, tokens] of all.entries()) {
        const vector = unitVector(Float32Array.from(await bertVector(path, tokens, pooling)));
        // llama.cpp looks its activation up in a table of f16.
        expect(vectorDifference(vectors[index] ?? [], [...vector])).toBeLessThan(5e-3);
      }
    } finally {
      await model.dispose();
    }
  });
});

describe('a bert', () => {
  let model: WholeModel;
  beforeAll(async () => {
    model = await serve(await generateEmbedder(join(folder, 'bert.gguf'), { ...shape, pooling: 1 }));
  });
  afterAll(() => model.dispose());

  it('puts its own marks around a text', async () => {
    const tokens = await model.tokenize('Rain falls', { addSpecial: true, parseSpecial: false });
    expect(tokens.map((token) => model.controlTokens.get(token) ?? '')).toEqual(['[CLS]', '', '', '[SEP]']);
  });

  it('gives one text the same vector alone and among others, and each text another one', async () => {
    const all = await tokensOf(model);
    const together = await vectorsOf(model, [...all, ...all]);
    for (const [index, tokens] of all.entries()) {
      const [alone = []] = await vectorsOf(model, [tokens]);
      expect(vectorDifference(together[index] ?? [], alone)).toBeLessThan(1e-4);
      expect(vectorDifference(together[index + all.length] ?? [], alone)).toBeLessThan(1e-4);
      for (const other of together.slice(index + 1, all.length))
        expect(vectorDifference(alone, other)).toBeGreaterThan(0.1);
    }
  });

  it('takes a text as long as its context, and none that is longer', async () => {
    const [vector = []] = await vectorsOf(model, [new Array<number>(96).fill(9)]);
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    await expect(model.embed({ tokens: new Array<number>(97).fill(9) }, signal)).rejects.toThrow(/97.*96/);
  });

  it('frees the seats of clients that leave', async () => {
    const leave = new AbortController();
    const asked = Array.from({ length: 9 }, () => model.embed({ tokens: [9, 9] }, leave.signal));
    leave.abort(new Error('gone'));
    for (const one of asked) await expect(one).rejects.toThrow('gone');
    expect(await vectorsOf(model, [[9, 9]])).toHaveLength(1);
  });
});

describe('a decoder that pools its last token, as Qwen3-Embedding does', () => {
  const decoder = {
    layers: 3,
    width: 64,
    heads: 4,
    kvHeads: 2,
    feedForward: 128,
    vocabulary: 512,
    tied: true,
    seed: 3,
  };

  it('gives what node-llama-cpp gives, also of texts of several chunks', async () => {
    const path = join(folder, 'qwen3.gguf');
    await generateModel(path, { architecture: 'qwen3', ...decoder, pooling: 3 });
    const model = await serve(path);
    try {
      expect(model.embedsOnly).toBe(true);
      // Chunks are of 64 tokens; node-llama-cpp puts a begin token first.
      const all = [3, 64, 65, 90].map((length) =>
        Array.from({ length }, (_, index) => (index === 0 ? 1 : 300 + index)),
      );
      const vectors = await vectorsOf(model, all);
      for (const [index, vector] of (await judged(path, all)).entries()) {
        expect(vectorDifference(vectors[index] ?? [], vector)).toBeLessThan(1e-4);
      }
    } finally {
      await model.dispose();
    }
  });
});
