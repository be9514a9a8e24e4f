import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { greedySampling, plainSampling } from '../electron/pipeline/sampling/plainSampling.ts';
import type { ServingModel } from '../electron/pipeline/serving/modelServing.ts';
import type { GeneratedToken, TokenSampling } from '../electron/pipeline/serving/servedModel.ts';
import { loadAddon } from '../electron/stage/loadAddon.ts';
import { exactModels, exactShape } from './models/exactModels.ts';
import { generateModel } from './models/generateModel.ts';
import { generated } from './testing/generated.ts';
import { Judge } from './testing/judge.ts';
import { plainAnswer } from './testing/plainAnswer.ts';
import { TestRoom } from './testing/testRoom.ts';

const CHUNK = 32;
const MOST_TOKENS = 12;
/** Of generated models. */
const END_TOKEN = 2;
const SLOTS = 4;
const sizes = { contextLength: 320, slots: SLOTS };
/** All at once, whether it pays or not. */
const everything = { ...sizes, exact: true, chunk: CHUNK, alwaysDraft: true, mostDrafts: 4, mostAhead: 3 };

const text = (length: number, salt: number) => Array.from({ length }, (_, at) => 3 + ((at * 37 + salt * 101) % 500));
/** More than there are seats. Many begin alike, within a chunk, at its end and behind it; the last has no whole chunk. */
const prompts = [
  ...[5, 63].map((length, salt) => [...text(100, 0), ...text(length, salt + 1)]),
  ...[1, 33].map((length, salt) => [...text(64, 0), ...text(length, salt + 4)]),
  text(20, 9),
];
/** Few tokens to choose from, so that drafts are often right, and often not, whoever makes them. */
const few: TokenSampling['logitBias'] = [77, 178, 279, 380].map((token) => [token, 40] as const);
const seeded: TokenSampling = { ...plainSampling, temperature: 0.9, topP: 0.95, seed: 11, choice: 1 };
const samplings: readonly TokenSampling[] = [
  { ...greedySampling, logitBias: few },
  { ...seeded, topK: 40, minP: 0.01, topLogprobs: 3, logitBias: few },
  { ...seeded, repetitionPenalty: 1.2, frequencyPenalty: 0.4, presencePenalty: 0.3, logitBias: [[77, 2]] },
];
const sampledPrompts = prompts.slice(0, 3);

describe('with batching, drafts, steps on top of drafts and prefix reuse all on, exact rings', () => {
  let folder: string;
  let room: TestRoom;
  const paths: string[] = [];
  /** The same weights, but coarser: it is often right, and often not. */
  const drafts: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roomful-together-'));
    const types = { attention: 'Q8_0', feedForward: 'Q4_0' } as const;
    for (const [index, [, model]] of exactModels.entries()) {
      const shape = { ...exactShape, ...model };
      paths.push(...(await generateModel(join(folder, `${index}.gguf`), shape)));
      drafts.push(...(await generateModel(join(folder, `${index}-draft.gguf`), { ...shape, types })));
    }
    room = await TestRoom.open([0, 1, 2].map(() => ({ memoryBytes: 600_000_000 })));
  }, 180_000);
  afterAll(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });

  describe.each(exactModels.map(([name], index) => ({ name, index })))('$name', ({ index }) => {
    const path = (): string => paths[index] ?? '';
    /** The prompts, and conversations that go on from the answers to them. */
    let asked: number[][];
    let judged: number[][];
    let sampled: GeneratedToken[][];

    beforeAll(async () => {
      const judge = await Judge.open(path(), {
        contextLength: sizes.contextLength * SLOTS,
        batch: CHUNK,
        slots: SLOTS,
      });
      const first: number[][] = [];
      for (const prompt of prompts) first.push(await judge.answer(prompt, MOST_TOKENS));
      const longer = prompts.slice(0, 2).map((prompt, at) => [...prompt, ...(first[at] ?? []), ...text(40, 20 + at)]);
      asked = [...prompts, ...longer];
      judged = [...first];
      for (const prompt of longer) judged.push(await judge.answer(prompt, MOST_TOKENS));
      await judge.close();

      const options = {
        path: path(),
        role: 'whole',
        layers: exactShape.layers,
        embedding: null,
        vocabulary: null,
      } as const;
      const room = { contextLength: sizes.contextLength * SLOTS, slots: SLOTS, batch: CHUNK, maxOutputs: 4 };
      const device = { threads: 1, gpuLayers: 0, device: null, kvType: 'f16' } as const;
      const stage = await loadAddon().addon.loadStage({ ...options, ...room, ...device }, () => {});
      sampled = [];
      for (const sampling of samplings) {
        for (const prompt of sampledPrompts) {
          const plain = { sampling, most: MOST_TOKENS, chunk: CHUNK, endTokens: new Set([END_TOKEN]) };
          sampled.push(await plainAnswer(stage, prompt, plain));
        }
      }
      await stage.unload();
    }, 120_000);

    it.each(index === 0 ? [1, 2, 3] : [2])(
      'give what one machine gives that does nothing else, through %i',
      async (stages) => {
        // Each way to draft, by turns.
        const byModel = (stages + index) % 2 === 0;
        const model = await room.serve({
          ...everything,
          modelPath: path(),
          members: room.members.slice(0, stages),
          ...(byModel && { draftPath: drafts[index] ?? '' }),
          ...(stages > 1 && { force: 'cluster', policy: 'proportional' }),
        });
        try {
          expect(model.placement).toHaveLength(stages);
          await holdsAgainst(model, byModel);
        } finally {
          await room.lead.models.stop(model.id);
        }
      },
      120_000,
    );

    async function holdsAgainst(model: ServingModel, byModel: boolean): Promise<void> {
      const cached = (): number => room.lead.models.numbers().at(-1)?.numbers?.cachedTokens ?? Number.NaN;
      // Nothing lies anywhere yet: what these have in common is copied while the first of them runs.
      const alike = asked.slice(0, 4).map((prompt) => generated(model, prompt, MOST_TOKENS));
      expect(await Promise.all(alike)).toEqual(judged.slice(0, 4));
      expect(cached()).toBe(CHUNK * (3 + 2 + 2));
      const greedy = (): Promise<number[]>[] => asked.map((prompt) => generated(model, prompt, MOST_TOKENS));
      const drawn = samplings.flatMap((sampling) =>
        sampledPrompts.map((promptTokens) => tokensOf(model, { promptTokens, maxTokens: MOST_TOKENS, sampling })),
      );
      const [first, answers] = await Promise.all([Promise.all(greedy()), Promise.all(drawn)]);
      expect(first).toEqual(judged);
      expect(answers).toEqual(sampled);
      // Once more, from what lies in the seats by now.
      expect(await Promise.all(greedy())).toEqual(judged);
      // The newest: those that have ended are still told of.
      const numbers = room.lead.models.numbers().at(-1)?.numbers;
      if (numbers === undefined) throw new Error('the lead drives the pipeline');
      expect(numbers.cachedTokens).toBeGreaterThan(CHUNK * 10);
      expect(numbers.cachedTokens % CHUNK).toBe(0);
      // A model that drafts is not waited for, and may have no time on a busy machine.
      if (!byModel) expect(numbers.acceptedTokens).toBeGreaterThan(0);
      expect(numbers.acceptedTokens).toBeLessThanOrEqual(numbers.draftedTokens);
    }
  });

  it('without --exact neither drafts, company nor what is held change an answer on CPUs', async () => {
    const wide = { architecture: 'llama', tied: false, layers: 4, width: 256, heads: 4, kvHeads: 2 } as const;
    const sizes = { feedForward: 512, vocabulary: 2048, seed: 9 };
    const [modelPath = ''] = await generateModel(join(folder, 'wide.gguf'), { ...wide, ...sizes });
    const place = { members: room.members.slice(0, 2), force: 'cluster', policy: 'proportional' } as const;
    const request = { ...everything, exact: false, modelPath, ...place };
    // No two begin alike: what is kept of a prompt was not computed just as it would be anew.
    const apart = [30, 41, 52, 33].map((length, at) => ({
      promptTokens: text(length, 30 + at),
      maxTokens: 40,
      sampling: { ...plainSampling, temperature: 0.7, seed: 3 + at, choice: 0 },
    }));
    // Choices of one prompt, which the first of them computes for all.
    const choices = [0, 1, 2, 3].map((choice) => ({
      promptTokens: text(47, 60),
      maxTokens: 40,
      sampling: { ...plainSampling, temperature: 0.7, seed: 8, choice },
    }));
    const plainly = await room.serve({ ...request, mostDrafts: 0 });
    const alone: GeneratedToken[][] = [];
    const choicesAlone: GeneratedToken[][] = [];
    for (const one of apart) alone.push(await tokensOf(plainly, one));
    for (const one of choices) choicesAlone.push(await tokensOf(plainly, one));
    await room.lead.models.stop(plainly.id);
    // Its own draft is nearly always right.
    const model = await room.serve({ ...request, draftPath: modelPath });
    expect(await Promise.all(apart.map((one) => tokensOf(model, one)))).toEqual(alone);
    // All of each prompt lies in a seat by now, but for its last token.
    expect(await Promise.all(apart.map((one) => tokensOf(model, one)))).toEqual(alone);
    expect(await Promise.all(choices.map((one) => tokensOf(model, one)))).toEqual(choicesAlone);
    await room.lead.models.stop(model.id);
  }, 60_000);
});

async function tokensOf(
  model: ServingModel,
  request: Parameters<ServingModel['generate']>[0],
): Promise<GeneratedToken[]> {
  const tokens: GeneratedToken[] = [];
  for await (const token of model.generate(request, new AbortController().signal)) tokens.push(token);
  return tokens;
}
