import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServingModel } from '../electron/pipeline/serving/modelServing.ts';
import { demoCorpus, demoModelPath } from './testing/demoCorpus.ts';
import { generated } from './testing/generated.ts';
import { judgedVectors, vectorDifference } from './testing/judgedVectors.ts';
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
  judged = await judgedVectors(demoModelPath, texts, { contextLength: 256, mean: true });
}, 180_000);
afterAll(async () => {
  await room.close();
});

describe('embeddings from three members', () => {
  it('are those of llama.cpp on the whole model', async () => {
    // By itself it asks for base64.
    const client = new OpenAI({ baseURL: `${room.lead.gateway}/v1`, apiKey: 'unused' });
    const { data, usage } = await client.embeddings.create({ model: model.id, input: texts });
    expect(data.map(({ index }) => index)).toEqual([0, 1, 2]);
    for (const [index, { embedding }] of data.entries()) {
      // f16 on two hops.
      expect(vectorDifference(embedding, judged[index] ?? [])).toBeLessThan(0.02);
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
    }
    expect(usage).toEqual({ prompt_tokens: 3 * textLength, total_tokens: 3 * textLength });
  });

  it('come of one token as of many, also of several texts at once and after an answer', async () => {
    const embed = (text: number[]) => model.embed({ tokens: text }, AbortSignal.timeout(20_000));
    const shorts = texts.flatMap((text) => [text.slice(0, 1), text.slice(0, 2)]);
    const alone = [];
    for (const text of shorts) alone.push(await embed(text));
    const answer = generated(model, texts[0] ?? [], 20);
    for (const [index, vector] of (await Promise.all(shorts.map(embed))).entries()) {
      expect(vectorDifference([...vector], [...(alone[index] ?? [])])).toBeLessThan(0.02 * Math.hypot(...vector));
    }
    await answer;
  });

  it('depend on nothing that a slot holds already', async () => {
    const [text = []] = texts;
    await generated(model, text, 2);
    const embed = () => model.embed({ tokens: text }, new AbortController().signal);
    const first = await embed();
    await generated(model, [...text, 5], 2);
    expect(vectorDifference([...(await embed())], [...first])).toBeLessThan(1e-3 * Math.hypot(...first));
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
