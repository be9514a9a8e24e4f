import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServingModel } from '../electron/pipeline/serving/modelServing.ts';
import { askAll } from './testing/askChat.ts';
import { demoCorpus, demoModelPath, demoPrompt } from './testing/demoCorpus.ts';
import { Judge } from './testing/judge.ts';
import { TestRoom } from './testing/testRoom.ts';

let room: TestRoom;
let model: ServingModel;

beforeAll(async () => {
  room = await TestRoom.forModel(demoModelPath, 3);
  model = await room.serve({ modelPath: demoModelPath });
}, 180_000);
afterAll(() => room.close());

/** What llama.cpp says with the whole model in this process. */
async function judgedTexts(questions: readonly string[]): Promise<string[]> {
  const slots = 4;
  const judge = await Judge.open(demoModelPath, { contextLength: model.contextLength * slots, batch: 512, slots });
  const { bytes, offsets } = model.pieces;
  const texts: string[] = [];
  for (const question of questions) {
    const prompt = await model.tokenize(demoPrompt(question), { addSpecial: false, parseSpecial: true });
    const tokens = await judge.answer(prompt, 200);
    texts.push(
      Buffer.concat(tokens.map((token) => bytes.subarray(offsets[token], offsets[token + 1]))).toString('utf8'),
    );
  }
  await judge.close();
  return texts;
}

test('with fp16 on the wire three members answer every question as the whole model does, eight at once', async () => {
  expect(model.placement).toHaveLength(3);
  const corpus = demoCorpus();
  const questions = corpus.flatMap((entry) => entry.questions);
  const judged = await judgedTexts(questions);
  const answers = await askAll(room.lead.gateway, model.id, questions, 8);
  expect(answers).toEqual(judged);

  const known = new Map(questions.map((question, index) => [question, answers[index]]));
  for (const entry of corpus) expect(known.get(entry.questions[0] ?? '')).toBe(entry.answer);
}, 300_000);
