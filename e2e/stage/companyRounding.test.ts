import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../../electron/gguf/testing/temporaryFolder.ts';
import { loadAddon } from '../../electron/stage/loadAddon.ts';
import type { NativeStage } from '../../electron/stage/nativeAddon.ts';
import { roundsInCompany } from '../../electron/stage/roundsInCompany.ts';
import { demoOptions, greedy } from '../../electron/stage/testing/demoModel.ts';
import { generateModel, type RandomModel } from '../models/generateModel.ts';
import { type RandomTensorType, randomTensorTypes } from '../models/randomTensor.ts';

const { addon } = loadAddon();
const folder = temporaryFolder();
const VOCABULARY = 512;
const SLOTS = 8;
/** Every value that a row can differ in. */
const sampling = { ...greedy, topLogprobs: VOCABULARY };
beforeAll(() => folder.make());
afterAll(() => folder.remove());

const lengthOf = (slot: number): number => 5 + slot;

/** The log probabilities of the next token of each of the first slots, computed in one step. */
async function together(stage: NativeStage, slots: readonly number[]): Promise<string[]> {
  const runs = slots.map((slot) => {
    return { slot, start: lengthOf(slot), tokens: Int32Array.of(100 + slot), truncateTo: lengthOf(slot), sampling };
  });
  const { sampled } = await stage.decode({ runs, input: null, output: null, outputFormat: 'f32' });
  return sampled.map(({ top }) => top?.map(({ token, logprob }) => `${token} ${logprob}`).join() ?? '');
}

/** Numbers of rows in whose company some row has other bits than alone. */
async function companies(stage: NativeStage): Promise<number[]> {
  for (let slot = 0; slot < SLOTS; slot += 1) {
    const tokens = Int32Array.from({ length: lengthOf(slot) }, (_, index) => 20 + 31 * slot + 7 * index);
    const run = { slot, start: 0, tokens, truncateTo: null, sampling: null };
    await stage.decode({ runs: [run], input: null, output: null, outputFormat: 'f32' });
  }
  const alone: string[] = [];
  for (let slot = 0; slot < SLOTS; slot += 1) alone.push(...(await together(stage, [slot])));
  expect(new Set(alone).size).toBe(SLOTS);
  const differing: number[] = [];
  for (let rows = 2; rows <= SLOTS; rows += 1) {
    const slots = Array.from({ length: rows }, (_, slot) => slot);
    const now = await together(stage, slots);
    if (now.some((row, slot) => row !== alone[slot])) differing.push(rows);
  }
  return differing;
}

const kinds: readonly [name: string, of: (type: RandomTensorType) => Pick<RandomModel, 'tied' | 'types'>][] = [
  ['matrices', (type) => ({ tied: false, types: { output: 'Q6_K', attention: type, feedForward: type } })],
  ['a tied head', (type) => ({ tied: true, types: { embedding: type, attention: 'Q4_0', feedForward: 'Q4_0' } })],
];
const cases = (Object.keys(randomTensorTypes) as RandomTensorType[]).flatMap((type) =>
  kinds.map(([name, of]) => [type, name, of(type)] as const),
);

test.each(cases)(
  'rows that share a step have the bits that they have alone, or are computed alone: %s, %s',
  async (type, name, shape) => {
    const path = folder.at(`${type}-${name}.gguf`);
    await generateModel(path, {
      ...{
        architecture: 'llama',
        layers: 2,
        width: 256,
        heads: 4,
        kvHeads: 2,
        feedForward: 512,
        vocabulary: VOCABULARY,
      },
      ...{ seed: 3, ...shape },
    });
    const options = demoOptions({ path, layers: 2, slots: SLOTS, contextLength: 32 * SLOTS, maxOutputs: SLOTS });
    const stage = await addon.loadStage(options, () => undefined);
    try {
      const differing = await companies(stage);
      if ((await roundsInCompany(options)) !== 'any') expect(differing).toEqual([]);
    } finally {
      await stage.unload();
    }
  },
);
