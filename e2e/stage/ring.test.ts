import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { EngineClient, type Vocabulary } from '../../electron/stage/engineClient.ts';
import { nodeLauncher } from '../../electron/stage/nodeLauncher.ts';
import { demoCorpus, demoModelPath, demoPrompt } from '../testing/demoCorpus.ts';
import { TestPool } from '../testing/testPool.ts';
import { TestRing, type TestRingOptions } from '../testing/testRing.ts';

let pool: TestPool;
let engine: EngineClient;
let vocabulary: Vocabulary;
let ring: TestRing | null = null;

beforeAll(async () => {
  pool = await TestPool.create();
  engine = await EngineClient.start(nodeLauncher, (error) => {
    throw error;
  });
  vocabulary = await engine.openVocabulary(demoModelPath);
});

afterEach(async () => {
  await ring?.close();
  ring = null;
});

afterAll(async () => {
  await engine.close();
  await pool.remove();
});

async function form(options: Pick<TestRingOptions, 'cuts' | 'exact'>): Promise<TestRing> {
  ring = await TestRing.form({ pool, modelPath: demoModelPath, ...options });
  return ring;
}

const tokenize = (question: string): Promise<Int32Array> =>
  vocabulary.tokenize(demoPrompt(question), { addSpecial: false, parseSpecial: true });

const textOf = (tokens: number[]): string => {
  const { bytes, offsets } = vocabulary.pieces;
  return Buffer.concat(tokens.map((token) => bytes.subarray(offsets[token], offsets[token + 1]))).toString();
};

test.each([
  { cuts: [0], exact: true },
  { cuts: [0, 7], exact: true },
  { cuts: [0, 4, 8], exact: true },
  { cuts: [0, 4, 8], exact: false },
])('stages that start at layers $cuts answer as the corpus does (exact: $exact)', async (options) => {
  const { stages } = await form(options);
  expect(stages).toHaveLength(options.cuts.length);
  for (const [index, { questions, answer }] of demoCorpus().slice(0, 6).entries()) {
    const slot = { slot: index % 4, generation: index + 1 };
    const tokens = await ring?.generate(await tokenize(questions[0] ?? ''), vocabulary.endTokens, slot);
    expect(textOf(tokens ?? [])).toBe(answer);
    await ring?.step([], { closedSlots: [slot.slot] });
  }
});
