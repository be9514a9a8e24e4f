import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelShape } from '../electron/gguf/modelShape.ts';
import { openModel } from '../electron/gguf/openModel.ts';
import { servingSizes } from '../electron/pipeline/placement/servingSizes.ts';
import type { ServingModel } from '../electron/pipeline/serving/modelServing.ts';
import { smolLm2 } from './models/smolLm2.ts';
import { demoCorpus } from './testing/demoCorpus.ts';
import { generated } from './testing/generated.ts';
import { Judge } from './testing/judge.ts';
import { StagedRoom } from './testing/stagedRoom.ts';

const path = smolLm2();
const request = { contextLength: 1024, slots: 4 };
/** It reads 100 to 200 tokens per second and core, so that few and short ones must do. */
const answerTokens = 12;
const promptLengths = [5, 20, 60, 130, 600];

describe.skipIf(path === null)('SmolLM2-135M-Instruct with f32 on the wire', () => {
  const modelPath = path ?? '';
  let room: StagedRoom;
  let judge: Judge;
  let prompts: number[][] = [];
  const judged: number[][] = [];

  beforeAll(async () => {
    const shape = modelShape(await openModel(modelPath));
    const { contextLength, slots, batch } = servingSizes(shape, request);
    judge = await Judge.open(modelPath, { contextLength, batch, slots });
    room = await StagedRoom.open([shape], [1, 2, 3], request);
  }, 180_000);
  afterAll(async () => {
    await judge.close();
    await room.close();
  });

  describe.each([1, 2, 3])('through %i', (stages) => {
    let model: ServingModel;
    beforeAll(async () => {
      model = await room.serve(stages, { modelPath, exact: true });
      if (judged.length > 0) return;
      prompts = await promptsOf(model);
      for (const prompt of prompts) judged.push(await judge.answer(prompt, answerTokens));
    }, 180_000);
    afterAll(() => room.lead.models.stop(model.id));

    it('gives the tokens of llama.cpp on the whole file, five prompts at once', async () => {
      const answers = await Promise.all(prompts.map((prompt) => generated(model, prompt, answerTokens)));
      expect(answers).toEqual(judged);
    }, 180_000);
  });
});

/** English text, cut to length. */
async function promptsOf(model: ServingModel): Promise<number[][]> {
  const text = demoCorpus().map(({ questions, answer }) => `${questions[0]} ${answer}`);
  const tokens = await model.tokenize(text.join('\n'), { addSpecial: false, parseSpecial: false });
  return promptLengths.map((length, index) => tokens.slice(index * 100, index * 100 + length));
}
