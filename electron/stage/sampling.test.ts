import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../gguf/testing/temporaryFolder.ts';
import { loadAddon } from './loadAddon.ts';
import type { NativeRun, NativeSampledToken, NativeSampling, NativeVocabulary } from './nativeAddon.ts';
import { chatPrompt, demoOptions, demoPath, greedy, plain } from './testing/demoModel.ts';
import { documentedDraw, uniformAt } from './testing/documentedDraw.ts';
import { generate } from './testing/generate.ts';
import { chainOf, loadChain, type StageChain } from './testing/stageChain.ts';
import { textOf } from './testing/textOf.ts';

const { addon } = loadAddon();
const folder = temporaryFolder();
const options = demoOptions({ contextLength: 1024 });
const size = 1536;
let vocabulary: NativeVocabulary;
let whole: StageChain;
let chain: StageChain;
let prompt: Int32Array;
/** Log probabilities of every token after the prompt, by id. */
let truth: number[];
beforeAll(async () => {
  await folder.make();
  vocabulary = await addon.loadVocabulary(demoPath);
  whole = chainOf([await addon.loadStage(options, () => undefined)]);
  chain = await loadChain(addon, options, [6], folder.at('.'));
  prompt = vocabulary.tokenize(chatPrompt('What is a hop?'), { addSpecial: true, parseSpecial: true });
  const all = await next({ ...greedy, topLogprobs: 1024 });
  truth = Array.from({ length: size }, () => Number.NEGATIVE_INFINITY);
  for (const { token, logprob } of all.top) truth[token] = logprob;
});
afterAll(async () => {
  await whole.unload();
  await chain.unload();
  vocabulary.free();
  await folder.remove();
});

/** The first token after the prompt, or after `rest` of it. */
async function next(sampling: NativeSampling, tokens: Int32Array = prompt): Promise<NativeSampledToken> {
  const run: NativeRun = { slot: 0, start: 0, tokens, truncateTo: 0, sampling };
  const { sampled, failures } = await whole.step([run], 'f32');
  if (failures[0] !== undefined) throw new Error(failures[0].message);
  const [token] = sampled;
  if (token === undefined) throw new Error('no token');
  return token;
}

const bias = (...pairs: [token: number, bias: number][]) => ({
  tokens: Int32Array.from(pairs.map(([token]) => token)),
  biases: Float32Array.from(pairs.map(([, value]) => value)),
});

describe('log probabilities', () => {
  it('are those of all tokens: they add up to one, the most probable first', async () => {
    const { token, logprob, top } = await next({ ...greedy, topLogprobs: 5 });
    expect(top).toHaveLength(5);
    expect(top[0]).toEqual({ token, logprob });
    expect([...top].sort((a, b) => b.logprob - a.logprob)).toEqual(top);
    const sum = truth.reduce((total, value) => total + Math.exp(value), 0);
    expect(sum).toBeGreaterThan(0.99);
    expect(sum).toBeLessThan(1.0001);
  });

  it('are of the raw logits, whatever changes them for sampling', async () => {
    const first = await next(greedy);
    const changed = {
      ...plain,
      temperature: 0.2,
      topK: 3,
      logitBias: bias([first.token, -100]),
      topLogprobs: 4,
      seed: 3n,
    };
    const other = await next(changed);
    expect(other.token).not.toBe(first.token);
    expect(other.logprob).toBe(truth[other.token]);
    expect(other.top.map(({ token }) => token)[0]).toBe(first.token);
  });

  it('are left out where nobody asks', async () => {
    expect(await next(greedy)).toMatchObject({ logprob: null, top: [] });
    expect(await next({ ...greedy, topLogprobs: 0 })).toMatchObject({ logprob: expect.any(Number), top: [] });
  });
});

describe('filters and biases', () => {
  /** Tokens that are drawn with many seeds. */
  const drawn = async (sampling: Partial<NativeSampling>, draws = 60): Promise<Set<number>> => {
    const tokens = new Set<number>();
    for (let seed = 0; seed < draws; seed += 1) {
      tokens.add((await next({ ...plain, temperature: 50, ...sampling, seed: BigInt(seed) })).token);
    }
    return tokens;
  };
  const ranked = () => [...truth.keys()].sort((a, b) => (truth[b] ?? 0) - (truth[a] ?? 0));

  it('top_k keeps the most probable tokens, all of them', async () => {
    expect(await drawn({ topK: 4 })).toEqual(new Set(ranked().slice(0, 4)));
  });

  it('min_p keeps those that are not much less probable than the first', async () => {
    const minP = 0.0001;
    const [best = 0] = ranked();
    const floor = (truth[best] ?? 0) + Math.log(minP);
    const expected = ranked().filter((token) => (truth[token] ?? Number.NaN) >= floor);
    expect(await drawn({ minP }, 40 * expected.length)).toEqual(new Set(expected));
  });

  it('a bias forces or bans a token, greedily too', async () => {
    const first = (await next(greedy)).token;
    expect((await next({ ...greedy, logitBias: bias([first, -100]) })).token).not.toBe(first);
    expect((await next({ ...greedy, logitBias: bias([77, 100]) })).token).toBe(77);
    expect((await next({ ...plain, logitBias: bias([77, 100], [size + 5, 100]), seed: 4n })).token).toBe(77);
  });

  it('the draw is that which is documented', async () => {
    const probabilities = [...truth.entries()].map(([token, logprob]) => [token, Math.exp(logprob)] as const);
    for (let i = 0; i < 40; i += 1) {
      const sampling = { temperature: 0.9, topP: 0.8, seed: BigInt(i), choice: i % 2 };
      const expected = documentedDraw(
        probabilities,
        sampling,
        uniformAt(sampling.seed, sampling.choice, prompt.length),
      );
      expect((await next({ ...plain, ...sampling })).token).toBe(expected);
    }
  });
});

describe('penalties', () => {
  it('follow the formula of llama.cpp: repetition over all, frequency and presence over the answer', async () => {
    const answer = [300, 300, 300, 301];
    const tokens = Int32Array.from([...prompt, ...answer]);
    const raw = new Map(
      (await next({ ...greedy, topLogprobs: 1024 }, tokens)).top.map((one) => [one.token, one.logprob]),
    );
    const counts = new Map([
      [300, 3],
      [301, 1],
    ]);
    const [frequencyPenalty, presencePenalty] = [1.5, 0.75];
    const lower = (token: number) => {
      const count = counts.get(token) ?? 0;
      return (raw.get(token) ?? Number.NaN) - count * frequencyPenalty - (count > 0 ? presencePenalty : 0);
    };
    const strong = bias([300, 40], [301, 40], [302, 40], [303, 40]);
    const expected = [300, 301, 302, 303].sort((a, b) => lower(b) - lower(a))[0];
    const penalties = { frequencyPenalty, presencePenalty, logitBias: strong, promptLength: prompt.length };
    expect((await next({ ...greedy, ...penalties }, tokens)).token).toBe(expected);
    // In the prompt they do not count.
    const best = [300, 301, 302, 303].sort((a, b) => (raw.get(b) ?? Number.NaN) - (raw.get(a) ?? Number.NaN))[0];
    expect((await next({ ...greedy, ...penalties, promptLength: tokens.length }, tokens)).token).toBe(best);
    // The repetition penalty counts them there too: a bias of 40 makes the logit positive, so it is divided.
    const repeated = { ...greedy, repetitionPenalty: 1000, logitBias: strong, promptLength: tokens.length };
    expect([302, 303]).toContain((await next(repeated, tokens)).token);
  });

  it('keep an answer from going round in circles', async () => {
    const endless = await generate(whole, Int32Array.of(40, 41, 40, 41), { count: 120 });
    const sampling = { ...greedy, frequencyPenalty: 2, presencePenalty: 2, promptLength: 4 };
    const varied = await generate(whole, Int32Array.of(40, 41, 40, 41), { count: 120, sampling });
    expect(new Set(varied).size).toBeGreaterThan(new Set(endless).size);
  });
});

describe('a grammar', () => {
  const lines = 'root ::= line{3}\nline ::= [0-9]{2,4} ":" [a-c]+ "\\n"\n';
  const form = /^(?:[0-9]{2,4}:[a-c]+\n){0,3}/;

  it.each(['whole', 'chain'] as const)('holds for all that the %s says, then only an end is left', async (kind) => {
    const on = kind === 'whole' ? whole : chain;
    for (const sampling of [greedy, { ...plain, temperature: 2, seed: 6n }, { ...plain, topK: 20, seed: 7n }]) {
      const grammar = { ...sampling, grammar: lines, promptLength: prompt.length };
      const tokens = await generate(on, prompt, { count: 200, sampling: grammar, endTokens: vocabulary.endTokens() });
      const text = textOf(vocabulary, tokens);
      const [matched = ''] = form.exec(text) ?? [];
      expect(text.startsWith(matched)).toBe(true);
      expect(text).toMatch(tokens.length < 200 ? /^(?:[0-9]{2,4}:[a-c]+\n){3}$/ : /^[0-9]{2,4}:[a-c]/);
    }
  });

  it('that cannot be read is refused with the reason, by the tokenizer and by the stage', async () => {
    for (const grammar of [
      'root = "a"',
      'root ::= nobody',
      'start ::= "a"',
      'root ::= root "a"',
      '',
      `root ::= ${'('.repeat(500)}`,
    ]) {
      const problem = vocabulary.grammarProblem(grammar);
      expect(problem, grammar.slice(0, 30)).toMatch(/^the grammar/);
      await expect(next({ ...greedy, grammar })).rejects.toThrow(problem ?? '');
    }
    expect(vocabulary.grammarProblem(lines)).toBeNull();
    expect(vocabulary.grammarProblem('root ::= "((((" [(] # (((\n')).toBeNull();
  });

  it('that the log does not follow fails its own slot and no other', async () => {
    // With a prompt of length 0 everything before counts as answer.
    const wrong = { ...greedy, grammar: lines, promptLength: 0 };
    const start = (slot: number, sampling: NativeSampling): NativeRun => {
      return { slot, start: 0, tokens: prompt, truncateTo: 0, sampling };
    };
    const { sampled, failures } = await whole.step([start(1, wrong), start(2, greedy)], 'f32');
    expect(sampled).toMatchObject([{ slot: 2 }]);
    expect(failures).toMatchObject([{ slot: 1, message: expect.stringMatching(/does not follow the grammar/) }]);
  });

  it('is refused by a last stage without a tokenizer', async () => {
    const bare = await loadChain(addon, options, [6], folder.at('.'), { withVocabulary: false });
    const run: NativeRun = {
      slot: 0,
      start: 0,
      tokens: prompt,
      truncateTo: 0,
      sampling: { ...greedy, grammar: lines },
    };
    expect((await bare.step([run], 'f32')).failures).toMatchObject([{ message: expect.stringMatching(/tokenizer/) }]);
    await bare.unload();
  });
});

describe('the state of a sequence', () => {
  const sampling: NativeSampling = {
    ...{ ...plain, temperature: 1.3, seed: 21n, frequencyPenalty: 0.7, presencePenalty: 0.2, repetitionPenalty: 1.1 },
    grammar: 'root ::= [a-z ,.]+',
  };
  const count = 40;

  it('depends on its log alone: any split, chunk, order of slots and replay gives the same tokens', async () => {
    const expected = await generate(whole, prompt, { count, sampling: { ...sampling, promptLength: prompt.length } });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('whole' as const, 'chain' as const),
        fc.integer({ min: 1, max: 20 }),
        fc.nat({ max: 3 }),
        fc.nat({ max: count - 1 }),
        async (kind, chunk, slot, replayed) => {
          // What another machine does after a loss: it prefills the log, and goes on.
          const log = Int32Array.from([...prompt, ...expected.slice(0, replayed)]);
          const kept = { ...sampling, promptLength: prompt.length };
          const on = kind === 'whole' ? whole : chain;
          const rest = await generate(on, log, { count: count - replayed, chunk, slot, sampling: kept });
          expect(rest).toEqual(expected.slice(replayed));
        },
      ),
      { numRuns: 20, seed: 3 },
    );
  });

  it('follows truncations, and is that of the new sequence after a prefix was copied', async () => {
    const kept = { ...sampling, promptLength: prompt.length };
    const expected = await generate(whole, prompt, { count: 20, sampling: kept, slot: 0 });
    const [stage] = whole.stages;
    // Back to a place in the middle of the answer, again and again.
    for (const back of [10, 3, 15, 1]) {
      const start = prompt.length + back - 1;
      let tokens = Int32Array.of(expected[back - 1] ?? -1);
      const rest: number[] = [];
      for (let at = start; rest.length < 20 - back; at += 1) {
        const run: NativeRun = { slot: 0, start: at, tokens, truncateTo: at === start ? start : null, sampling: kept };
        const token = (await whole.step([run], 'f32')).sampled[0]?.token ?? -1;
        rest.push(token);
        tokens = Int32Array.of(token);
      }
      expect(rest).toEqual(expected.slice(back));
    }
    await stage?.copyPrefix(0, 3, prompt.length - 2);
    const start = prompt.length - 2;
    const run: NativeRun = { slot: 3, start, tokens: prompt.subarray(start), truncateTo: null, sampling: kept };
    expect((await whole.step([run], 'f32')).sampled[0]?.token).toBe(expected[0]);
  });

  it('of several sequences in one step is that of each alone', async () => {
    const samplings = [0, 1, 2, 3].map((choice) => ({ ...sampling, choice, promptLength: prompt.length }));
    const alone: number[][] = [];
    for (const one of samplings) alone.push(await generate(whole, prompt, { count: 12, sampling: one }));
    let runs = samplings.map(
      (one, slot): NativeRun => ({ slot, start: 0, tokens: prompt, truncateTo: 0, sampling: one }),
    );
    const together: number[][] = samplings.map(() => []);
    for (let at = 0; at < 12; at += 1) {
      const { sampled } = await chain.step(runs, 'f32');
      for (const { slot, token } of sampled) together[slot]?.push(token);
      runs = sampled.map(({ slot, token, position }): NativeRun => {
        const one = samplings[slot] ?? null;
        return { slot, start: position, tokens: Int32Array.of(token), truncateTo: null, sampling: one };
      });
    }
    expect(together).toEqual(alone);
    expect(new Set(alone.map((tokens) => tokens.join())).size).toBeGreaterThan(1);
  });
});

describe('what cannot be right is refused', () => {
  it.each<[string, Partial<NativeSampling>, RegExp]>([
    ['a top_k below 0', { topK: -1 }, /topK/],
    ['a min_p above 1', { minP: 2 }, /minP/],
    ['a repetition penalty of 0', { repetitionPenalty: 0 }, /repetitionPenalty/],
    ['an infinite penalty', { frequencyPenalty: Number.POSITIVE_INFINITY }, /frequencyPenalty/],
    ['biases without tokens', { logitBias: { tokens: new Int32Array(1), biases: new Float32Array(2) } }, /lengths/],
    ['a bias that is no number', { logitBias: bias([1, Number.NaN]) }, /bias/],
    ['a grammar that is no text', { grammar: 1 as unknown as string }, /grammar/],
    ['too many log probabilities', { topLogprobs: 5000 }, /topLogprobs/],
  ])('%s', async (_, change, message) => {
    await expect(next({ ...greedy, ...change })).rejects.toThrow(message);
  });

  it('a vocabulary that is not there, and one for a stage that does not sample', async () => {
    const load = (change: object) => addon.loadStage({ ...options, ...change }, () => undefined);
    await expect(load({ vocabulary: demoPath })).rejects.toThrow(/last stage only/);
  });
});
