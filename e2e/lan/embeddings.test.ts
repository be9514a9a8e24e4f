import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { generateEmbedder } from '../models/generateEmbedder.ts';
import { bertVector } from '../testing/bertVector.ts';
import { demoModelPath } from '../testing/demoCorpus.ts';
import { judgedVectors, vectorDifference } from '../testing/judgedVectors.ts';
import { describeOnLan } from './describeOnLan.ts';
import { LanPool } from './testing/lanPool.ts';
import { serve } from './testing/lanServing.ts';
import { OpenaiUser } from './testing/openaiUser.ts';

const bert = { layers: 2, width: 64, heads: 4, feedForward: 128, contextLength: 48, pooling: 2, seed: 11 };

describeOnLan('embeddings in a pool', () => {
  vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });
  let pool: LanPool;
  let users: OpenaiUser[];
  let embedder: string;

  beforeAll(async () => {
    pool = await LanPool.start({ members: 3, args: ['--threads', '1'] });
    await pool.joinAll();
    users = await Promise.all(pool.members.map(({ machine, gateway }) => OpenaiUser.start(machine, gateway)));
    embedder = await generateEmbedder(join(pool.folder, 'bert.gguf'), bert);
  });
  afterAll(() => pool.close());

  test('of a model that writes text, cut over two members, are the same at every member', async () => {
    const { model, pipelines } = await serve(
      pool.member(1),
      demoModelPath,
      '--force',
      'cluster',
      '--members',
      'ada,bob',
    );
    expect(pipelines[0]).toHaveLength(2);
    const texts = [3, 20].map((length) => Array.from({ length }, (_, index) => 300 + 7 * index));
    const judged = await judgedVectors(demoModelPath, texts, { contextLength: 64, mean: true });
    for (const user of users) {
      const { vectors, tokens } = await user.embed(model, texts);
      expect(tokens).toBe(23);
      // f16 on the hop.
      for (const [index, vector] of vectors.entries()) {
        expect(vectorDifference(vector, judged[index] ?? [])).toBeLessThan(0.02);
      }
    }
  });

  test('of an embedding model come whole from one member, with its own pooling, at every member', async () => {
    await expect(serve(pool.member(2), embedder, '--force', 'cluster')).rejects.toThrow(/embedding model.*one member/);
    await expect(serve(pool.member(2), embedder, '--context', '49')).rejects.toThrow(/at most 48 tokens, not 49/);
    // It is fetched from whoever has its file.
    const { model, pipelines } = await serve(pool.member(2), embedder, '--members', 'cyd');
    expect(pipelines).toEqual([['cyd']]);
    // So that no window offers it for a chat.
    for (const member of pool.members) {
      const shown = async () => (await member.status()).pipelines.find(({ modelId }) => modelId === model);
      await vi.waitFor(async () => expect(await shown()).toMatchObject({ embedsOnly: true }), 30_000);
    }
    const texts = ['Rain falls', 'a hop, a stage'];
    // Of the vocabulary: the first and the last are the marks that the tokenizer puts around a text.
    const asTokens = [[2, 11, 12, 3]];
    const expected = await Promise.all(asTokens.map((tokens) => bertVector(embedder, tokens, 'cls')));
    const length = Math.hypot(...(expected[0] ?? []));
    const [first] = await Promise.all(users.map((user) => user.embed(model, texts)));
    for (const user of users) {
      expect(await user.models()).toContain(model);
      const { vectors, tokens } = await user.embed(model, texts);
      expect(tokens).toBe(first?.tokens);
      const unit = (expected[0] ?? []).map((value) => value / length);
      expect(vectorDifference(vectors[0] ?? [], unit)).toBeLessThan(5e-3);
      expect(vectorDifference((await user.embed(model, asTokens)).vectors[0] ?? [], unit)).toBeLessThan(5e-3);
      for (const [index, vector] of vectors.entries()) {
        expect(vectorDifference(vector, first?.vectors[index] ?? [])).toBeLessThan(1e-3);
        expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
      }
      const short = await user.embed(model, texts, 8);
      expect(short.vectors.map((vector) => vector.length)).toEqual([8, 8]);
    }
  });

  test('what it cannot do is refused at every member', async () => {
    for (const user of users) {
      const [model = ''] = (await user.models()).filter((id) => id.includes('bert'));
      await expect(user.ask(model, 'Rain?').ended()).rejects.toThrow(/400.*embedding model.*\/v1\/embeddings/);
      await expect(user.embed(model, [new Array<number>(49).fill(11)])).rejects.toThrow(/400.*49.*48/);
      await expect(user.embed(model, ['rain'], 65)).rejects.toThrow(/400.*64/);
    }
  });
});
