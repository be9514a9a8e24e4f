import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../gguf/testing/temporaryFolder.ts';
import { loadAddon } from './loadAddon.ts';
import type { NativeRun, NativeSampling, NativeVocabulary } from './nativeAddon.ts';
import { chatPrompt, demoOptions, demoPath, greedy, plain } from './testing/demoModel.ts';
import { generate } from './testing/generate.ts';
import { generateWithDrafts } from './testing/generateWithDrafts.ts';
import { chainOf, loadChain, type StageChain } from './testing/stageChain.ts';

const { addon } = loadAddon();
const folder = temporaryFolder();
const options = demoOptions({ maxOutputs: 9, contextLength: 2048 });
let vocabulary: NativeVocabulary;
let whole: StageChain;
let chain: StageChain;
let prompt: Int32Array;
beforeAll(async () => {
  await folder.make();
  vocabulary = await addon.loadVocabulary(demoPath);
  whole = chainOf([await addon.loadStage(options, () => undefined)]);
  chain = await loadChain(addon, options, [4, 8], folder.at('.'));
  prompt = vocabulary.tokenize(chatPrompt('What is a hop?'), { addSpecial: true, parseSpecial: true });
});
afterAll(async () => {
  await whole.unload();
  await chain.unload();
  vocabulary.free();
  await folder.remove();
});

/** Letters, so that the demo model has to leave its corpus. */
const grammar = 'root ::= ([a-z]+ " "){3,} "."\n';
const count = 32;
const samplings = (promptLength: number): Record<string, NativeSampling> => {
  return {
    greedy,
    seeded: { ...plain, temperature: 1.2, topP: 0.95, seed: 11n },
    'seeded, with every filter': { ...plain, temperature: 1.5, topK: 60, topP: 0.97, minP: 0.01, seed: 5n, choice: 2 },
    'greedy, with penalties': {
      ...greedy,
      repetitionPenalty: 1.3,
      frequencyPenalty: 0.6,
      presencePenalty: 0.4,
      promptLength,
    },
    'seeded, with a grammar': { ...plain, seed: 3n, grammar, promptLength },
    'greedy, with a grammar and penalties': { ...greedy, grammar, frequencyPenalty: 1, promptLength },
  };
};

/** Guesses that are those of `truth` but for every place that `wrong` names. */
const guesses = (truth: number[], lengths: number[], wrong: boolean[]) => (index: number) => {
  const length = lengths[index % lengths.length] ?? 0;
  return truth.slice(index, index + length).map((token, at) => {
    return wrong[(index + at) % wrong.length] === true ? (token + 1) % 1536 : token;
  });
};

describe('drafts that are verified', () => {
  it.each(Object.keys(samplings(0)))('give the tokens of plain decoding: %s', async (name) => {
    const sampling = samplings(prompt.length)[name] ?? greedy;
    const truth = await generate(whole, prompt, { count: count + 16, sampling });
    expect(await generate(chain, prompt, { count: count + 16, sampling, chunk: 5 })).toEqual(truth);
    const expected = truth.slice(0, count);
    let accepted = 0;
    let dropped = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 5 }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
        fc.boolean(),
        async (lengths, wrong, ahead) => {
          const propose = guesses(truth, lengths, wrong);
          const answer = await generateWithDrafts(chain, prompt, { count, sampling, propose, ahead });
          expect(answer.tokens).toEqual(expected);
          accepted += answer.accepted;
          dropped += answer.dropped;
        },
      ),
      { numRuns: 25, seed: 1 },
    );
    expect(accepted).toBeGreaterThan(count);
    expect(dropped).toBeGreaterThan(0);
  });

  it('take one step where all are right', async () => {
    const truth = await generate(whole, prompt, { count: 9 });
    const propose = () => truth.slice(1, 9);
    const steps: number[] = [];
    const counting: StageChain = {
      ...whole,
      step: (runs, format) => {
        steps.push(runs.length);
        return whole.step(runs, format);
      },
    };
    const answer = await generateWithDrafts(counting, prompt, { count: 10, sampling: greedy, propose });
    expect(answer.tokens.slice(0, 9)).toEqual(truth);
    expect(answer.accepted).toBe(8);
    expect(steps).toHaveLength(2);
  });

  it('are checked in slots beside others, each with its own', async () => {
    const other = vocabulary.tokenize(chatPrompt('Count to ten.'), { addSpecial: true, parseSpecial: true });
    const sampling = { ...plain, temperature: 0.9, seed: 8n, frequencyPenalty: 0.3, promptLength: 4 };
    const alone = [
      await generate(whole, prompt, { count: 6, sampling }),
      await generate(whole, other, { count: 6, sampling }),
    ];
    const start = (slot: number, tokens: Int32Array): NativeRun => ({
      slot,
      start: 0,
      tokens,
      truncateTo: 0,
      sampling,
    });
    await chain.step([start(1, prompt), start(0, other)], 'f32');
    const drafted = (slot: number, at: number, truth: number[]): NativeRun => {
      return { slot, start: at, tokens: Int32Array.from(truth.slice(0, 5)), truncateTo: at, sampling, drafts: 4 };
    };
    const [one = [], two = []] = alone;
    const { sampled } = await chain.step([drafted(1, prompt.length, one), drafted(0, other.length, two)], 'f32');
    expect(sampled.filter(({ slot }) => slot === 1).map(({ token }) => token)).toEqual(one.slice(1));
    expect(sampled.filter(({ slot }) => slot === 0).map(({ token }) => token)).toEqual(two.slice(1));
  });

  it('that follow on drafts of a slot that was closed or cut are left out', async () => {
    const [stage] = whole.stages;
    const run: NativeRun = { slot: 2, start: 0, tokens: prompt, truncateTo: 0, sampling: greedy };
    const { sampled } = await whole.step([run], 'f32');
    const token = sampled[0]?.token ?? -1;
    const ahead = { ...run, start: prompt.length, tokens: Int32Array.of(token), truncateTo: null, drafts: 1 };
    await stage?.truncate(2, prompt.length - 1);
    expect(await whole.step([ahead], 'f32')).toMatchObject({ sampled: [], dropped: 1 });
    await whole.step([run], 'f32');
    expect(await whole.step([ahead], 'f32')).toMatchObject({ sampled: [{ position: prompt.length + 1 }], dropped: 0 });
    await whole.step([run], 'f32');
    await stage?.closeSlot(2);
    expect(await whole.step([ahead], 'f32')).toMatchObject({ sampled: [], dropped: 1 });
  });

  it('are refused where nothing checks them, and where there are more than logits', async () => {
    const run: NativeRun = { slot: 0, start: 0, tokens: prompt, truncateTo: 0, sampling: greedy };
    await expect(whole.step([{ ...run, drafts: 9 }], 'f32')).rejects.toThrow(/9 drafts.*at most 9 tokens/);
    await expect(whole.step([{ ...run, drafts: 1, sampling: null }], 'f32')).rejects.toThrow(/no token to check/);
    await expect(whole.step([{ ...run, drafts: -1 }], 'f32')).rejects.toThrow(/drafts/);
  });
});
