import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../gguf/testing/temporaryFolder.ts';
import { loadAddon } from './loadAddon.ts';
import type { NativeAddon, NativeSampling, NativeStage } from './nativeAddon.ts';
import { demoOptions, demoPath, plain } from './testing/demoModel.ts';
import { documentedDraw, uniformAt } from './testing/documentedDraw.ts';
import { generate } from './testing/generate.ts';
import { type Judgement, judge } from './testing/judge.ts';
import { chainOf, loadChain } from './testing/stageChain.ts';

/** Longer than one batch, one batch, and short; ids of ordinary tokens without meaning, which is the harder case. */
const prompts = [5, 64, 150].map((length) => Array.from({ length }, (_, index) => (index * 37 + length) % 1500));
const setting = { contextLength: 512, batch: 64, threads: 1 };
const count = 48;

let addon: NativeAddon;
let expected: Judgement[];
const folder = temporaryFolder();
beforeAll(async () => {
  await folder.make();
  expected = await judge(prompts, { path: demoPath, ...setting, count });
  ({ addon } = loadAddon());
});
afterAll(folder.remove);

describe('greedy tokens equal those of node-llama-cpp', () => {
  it('for the whole model', async () => {
    const chain = chainOf([await addon.loadStage(demoOptions(setting), () => undefined)]);
    for (const [index, prompt] of prompts.entries()) {
      const tokens = await generate(chain, Int32Array.from(prompt), { count, chunk: setting.batch });
      expect(tokens).toEqual(expected[index]?.tokens);
    }
    await chain.unload();
  });

  it('for two stages, all prompts at once', async () => {
    const chain = await loadChain(addon, demoOptions(setting), [7], folder.at('.'));
    const answers = await Promise.all(
      prompts.map((prompt, slot) => generate(chain, Int32Array.from(prompt), { count, slot, chunk: setting.batch })),
    );
    expect(answers).toEqual(expected.map(({ tokens }) => tokens));
    await chain.unload();
  });
});

it('with a cache of 8 bits a model that is cut says what the whole one does', async () => {
  const whole = chainOf([await addon.loadStage(demoOptions({ ...setting, kvType: 'q8_0' }), () => undefined)]);
  const cut = await loadChain(addon, demoOptions({ ...setting, kvType: 'q8_0' }), [3, 7], folder.at('.'));
  const answer = (chain: typeof whole, prompt: number[]) =>
    generate(chain, Int32Array.from(prompt), { count, chunk: setting.batch });
  for (const prompt of prompts) expect(await answer(cut, prompt)).toEqual(await answer(whole, prompt));
  await Promise.all([whole.unload(), cut.unload()]);
});

describe('seeded sampling', () => {
  const length = 5;
  const slots = 4;
  const prompt = Int32Array.from(prompts[0] ?? []);
  let stage: NativeStage;
  beforeAll(async () => {
    stage = await addon.loadStage(demoOptions({ ...setting, slots }), () => undefined);
    const runs = Array.from({ length: slots }, (_, slot) => {
      return { slot, start: 0, tokens: prompt, truncateTo: null, sampling: null };
    });
    await stage.decode({ runs, input: null, output: null, outputFormat: 'f32' });
  });
  afterAll(() => stage.unload());

  /** The tokens drawn after the prompt, as many per step as there are slots. */
  async function draw(samplings: NativeSampling[], start = length - 1, token = prompt.at(-1) ?? 0): Promise<number[]> {
    const drawn: number[] = [];
    for (let i = 0; i < samplings.length; i += slots) {
      const runs = samplings.slice(i, i + slots).map((sampling, slot) => {
        return { slot, start, tokens: Int32Array.of(token), truncateTo: start, sampling };
      });
      const { sampled } = await stage.decode({ runs, input: null, output: null, outputFormat: 'f32' });
      expect(sampled.map(({ position }) => position)).toEqual(runs.map(() => start + 1));
      drawn.push(...sampled.map((entry) => entry.token));
    }
    return drawn;
  }

  it.each([
    { temperature: 1, topP: 1 },
    { temperature: 1.7, topP: 0.9 },
    { temperature: 0.6, topP: 0.95 },
    { temperature: 2.5, topP: 0.999 },
    { temperature: 1, topP: 0 },
  ])('draws as documented from the probabilities of llama.cpp: %o', async ({ temperature, topP }) => {
    const probabilities = expected[0]?.probabilities ?? [];
    expect(probabilities).toHaveLength(1536);
    const draws = 400;
    const samplings = Array.from({ length: draws }, (_, i) => {
      return { ...plain, temperature, topP, seed: (BigInt(i) * 0x9e3779b97f4a7c15n) % 2n ** 64n, choice: i % 3 };
    });
    const drawn = await draw(samplings);
    const agreed = samplings.filter(({ seed, choice }, i) => {
      return drawn[i] === documentedDraw(probabilities, { temperature, topP }, uniformAt(seed, choice, length));
    }).length;
    // A draw at the very border of two tokens may fall to either: the judge's probabilities are rounded to f32.
    expect(agreed).toBeGreaterThanOrEqual(draws - 1);
  });

  it('depends on seed, choice and position and on nothing else', async () => {
    const hot = { ...plain, temperature: 1e6, seed: 7n };
    const changed = [
      { ...hot, seed: 8n },
      { ...hot, seed: 2n ** 64n - 1n },
      { ...hot, choice: 1 },
    ];
    const [token, again, ...others] = await draw([hot, hot, ...changed]);
    expect(again).toBe(token);
    expect(new Set([token, ...others]).size).toBe(4);
    const [later] = await draw([hot], length, 5);
    expect(later).not.toBe(token);
  });

  it('spreads evenly over the vocabulary when the temperature drowns the model', async () => {
    const buckets = new Array<number>(8).fill(0);
    const draws = 1600;
    const hot = Array.from({ length: draws }, (_, i) => ({ ...plain, temperature: 1e6, seed: BigInt(i) }));
    for (const token of await draw(hot)) {
      const bucket = Math.floor(token / (1536 / buckets.length));
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    const mean = draws / buckets.length;
    const chiSquare = buckets.reduce((sum, count) => sum + (count - mean) ** 2 / mean, 0);
    // 24.3 is the 99.9th percentile of chi-square with 7 degrees of freedom; the seeds are fixed, so this cannot flake.
    expect(chiSquare).toBeLessThan(24.3);
  });
});
