import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { splittableArchitectures } from '../electron/gguf/architectures.ts';
import { modelShape } from '../electron/gguf/modelShape.ts';
import { openModel } from '../electron/gguf/openModel.ts';
import { servingSizes } from '../electron/pipeline/placement/servingSizes.ts';
import { plainSampling } from '../electron/pipeline/sampling/plainSampling.ts';
import type { ServingModel } from '../electron/pipeline/serving/modelServing.ts';
import { exactModels as models, exactShape as shape } from './models/exactModels.ts';
import { generateModel } from './models/generateModel.ts';
import { generated } from './testing/generated.ts';
import { Judge } from './testing/judge.ts';
import { StagedRoom } from './testing/stagedRoom.ts';

/** Four run at once and the fifth takes the first seat that is free; the longest goes in two chunks. */
const prompts = [5, 37, 150, 311, 600].map((length, salt) =>
  Array.from({ length }, (_, at) => 3 + ((at * 37 + salt * 101) % 500)),
);
const answerTokens = 32;
const request = { contextLength: 1024, slots: 4 };

it('covers every architecture that may be cut', () => {
  expect(new Set(models.map(([, { architecture }]) => architecture))).toEqual(new Set(splittableArchitectures));
});

describe('tokens through 1, 2 and 3 members with f32 on the wire', () => {
  let folder: string;
  let room: StagedRoom;
  const paths: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roomful-exact-'));
    for (const [index, [, model]] of models.entries()) {
      paths.push(...(await generateModel(join(folder, `${index}.gguf`), { ...shape, ...model })));
    }
    const shapes = await Promise.all(paths.map(async (path) => modelShape(await openModel(path))));
    room = await StagedRoom.open(shapes, [1, 2, 3], request);
  }, 180_000);
  afterAll(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });

  describe.each(models.map(([name], index) => ({ name, index })))('$name', ({ index }) => {
    let judged: number[][];
    /** What one member draws, for more members to repeat. */
    let drawn: number[] | null = null;

    beforeAll(async () => {
      const path = paths[index] ?? '';
      const { contextLength, slots, batch } = servingSizes(modelShape(await openModel(path)), request);
      const judge = await Judge.open(path, { contextLength, batch, slots });
      judged = [];
      for (const prompt of prompts) judged.push(await judge.answer(prompt, answerTokens));
      await judge.close();
    });

    describe.each([1, 2, 3])('through %i', (stages) => {
      let model: ServingModel;
      beforeAll(async () => {
        model = await room.serve(stages, { modelPath: paths[index] ?? '', exact: true });
      });
      afterAll(() => room.lead.models.stop(model.id));

      it('are those of llama.cpp on the whole file, five prompts at once', async () => {
        const answers = await Promise.all(prompts.map((prompt) => generated(model, prompt, answerTokens)));
        expect(answers).toEqual(judged);
        expect(new Set(answers.flat()).size).toBeGreaterThan(50);
      });

      it('are drawn by the seed alone', async () => {
        const draw = (seed: number) =>
          generated(model, prompts[2] ?? [], answerTokens, {
            ...plainSampling,
            temperature: 0.8,
            topP: 0.9,
            seed,
            choice: 0,
          });
        const [once, twice, other] = await Promise.all([draw(7), draw(7), draw(8)]);
        expect(twice).toEqual(once);
        expect(other).not.toEqual(once);
        expect(once).not.toEqual(judged[2]);
        drawn ??= once;
        expect(once).toEqual(drawn);
      });
    });
  });
});
