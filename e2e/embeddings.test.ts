import { getLlama, LlamaLogLevel, type Token } from 'node-llama-cpp';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServingModel } from '../electron/pipeline/serving/modelServing.ts';
import { demoCorpus, demoModelPath } from './testing/demoCorpus.ts';
import { generated } from './testing/generated.ts';
import { TestRoom } from './testing/testRoom.ts';

/** Shorter than what a stage takes at once, longer than the rows that the last one gives at once. */
const textLength = 40;

let room: TestRoom;
let model: ServingModel;
let texts: number[][];
let judged: number[][];

beforeAll(async () => {
  room = await TestRoom.forModel(demoModelPath, 3);
  model = await room.serve({ modelPath: demoModelPath });
  expect(model.placement).toHaveLength(3);
  const all = demoCorpus().map(({ answer }) => answer);
  const tokens = await model.tokenize(all.join('\n'), { addSpecial: true, parseSpecial: false });
  texts = [0, 1, 2].map((index) => tokens.slice(index * textLength, (index + 1) * textLength));
  judged = await judge(texts);
}, 180_000);
afterAll(async () => {
  await room.close();
});

/**
 * The mean hidden state of each text as node-llama-cpp has it for the whole model, of length 1. It gives that of a text's last
 * token; every beginning of a text gives that of one of its tokens.
 */
async function judge(all: readonly number[][]): Promise<number[][]> {
  const llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel: LlamaLogLevel.error });
  const whole = await llama.loadModel({ modelPath: demoModelPath, gpuLayers: 0 });
  const context = await whole.createEmbeddingContext({ contextSize: 256, batchSize: 64, threads: 1 });
  const means: number[][] = [];
  for (const text of all) {
    const sum: number[] = [];
    for (let length = 1; length <= text.length; length += 1) {
      const { vector } = await context.getEmbeddingFor(text.slice(0, length) as Token[]);
      for (const [index, value] of vector.entries()) sum[index] = (sum[index] ?? 0) + value;
    }
    const norm = Math.hypot(...sum);
    means.push(sum.map((value) => value / norm));
  }
  await llama.dispose();
  return means;
}

/** The largest difference of two vectors, against the size of a value of theirs. */
function difference(one: readonly number[], other: readonly number[]): number {
  expect(one).toHaveLength(other.length);
  return Math.max(...one.map((value, index) => Math.abs(value - (other[index] ?? 0)))) * Math.sqrt(other.length);
}

describe('embeddings from three members', () => {
  it('are those of llama.cpp on the whole model', async () => {
    // By itself it asks for base64.
    const client = new OpenAI({ baseURL: `${room.lead.gateway}/v1`, apiKey: 'unused' });
    const { data, usage } = await client.embeddings.create({ model: model.id, input: texts });
    expect(data.map(({ index }) => index)).toEqual([0, 1, 2]);
    for (const [index, { embedding }] of data.entries()) {
      // f16 on two hops.
      expect(difference(embedding, judged[index] ?? [])).toBeLessThan(0.02);
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
    }
    expect(usage).toEqual({ prompt_tokens: 3 * textLength, total_tokens: 3 * textLength });
  });

  it('depend on nothing that a slot holds already', async () => {
    const [text = []] = texts;
    await generated(model, text, 2);
    const embed = () => model.embed({ tokens: text }, new AbortController().signal);
    const first = await embed();
    await generated(model, [...text, 5], 2);
    expect(difference([...(await embed())], [...first])).toBeLessThan(1e-3 * Math.hypot(...first));
    expect(await generated(model, text, 4)).toEqual(await generated(model, text, 4));
  });

  it('free their seats when the client leaves', async () => {
    const leave = new AbortController();
    const asked = Array.from({ length: 6 }, () => model.embed({ tokens: texts[0] ?? [] }, leave.signal));
    leave.abort(new Error('gone'));
    for (const one of asked) await expect(one).rejects.toThrow('gone');
    expect(await generated(model, texts[1] ?? [], 2)).toHaveLength(2);
  });
});
