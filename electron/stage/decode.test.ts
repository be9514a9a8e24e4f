import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cutStage } from '../gguf/cutStage.ts';
import { openModel } from '../gguf/openModel.ts';
import { temporaryFolder } from '../gguf/testing/temporaryFolder.ts';
import { loadAddon } from './loadAddon.ts';
import type { NativeRun, NativeVocabulary } from './nativeAddon.ts';
import { chatPrompt, demoOptions, demoPath, demoWidth, greedy, hopAnswer } from './testing/demoModel.ts';
import { generate } from './testing/generate.ts';
import { chainOf, loadChain, type StageChain } from './testing/stageChain.ts';
import { textOf } from './testing/textOf.ts';

const { addon } = loadAddon();
const folder = temporaryFolder();
const questions = ['What is a hop?', 'Who are you?', 'What is a stage?', 'Why are hops bad?'];

let vocabulary: NativeVocabulary;
let whole: StageChain;
let chain: StageChain;
beforeAll(async () => {
  await folder.make();
  vocabulary = await addon.loadVocabulary(demoPath);
  whole = chainOf([await addon.loadStage(demoOptions(), () => undefined)]);
  chain = await loadChain(addon, demoOptions(), [5, 9], folder.at('.'));
});
afterAll(async () => {
  await whole.unload();
  await chain.unload();
  vocabulary.free();
  await folder.remove();
});

function promptOf(question: string): Int32Array {
  return vocabulary.tokenize(chatPrompt(question), { addSpecial: true, parseSpecial: true });
}

async function answer(on: StageChain, question: string, format: 'f16' | 'f32' = 'f32'): Promise<string> {
  const endTokens = vocabulary.endTokens();
  return textOf(vocabulary, await generate(on, promptOf(question), { count: 100, format, endTokens }));
}

function wholePrompt(slot: number, question: string): NativeRun {
  return { slot, start: 0, tokens: promptOf(question), truncateTo: 0, sampling: greedy };
}

describe('the whole model', () => {
  it('knows what a hop is', async () => {
    expect(await answer(whole, 'What is a hop?')).toBe(hopAnswer);
  });
});

describe('three stages', () => {
  it('give the tokens of the whole model with f32 activations', async () => {
    for (const question of questions) {
      const options = { count: 40, chunk: 7 };
      expect(await generate(chain, promptOf(question), options)).toEqual(
        await generate(whole, promptOf(question), options),
      );
    }
  });

  it('give the same text with f16 activations, which they really use', async () => {
    expect(await answer(chain, 'What is a hop?', 'f16')).toBe(hopAnswer);
    const { formats } = await chain.step([wholePrompt(0, 'What is a hop?')], 'f16');
    expect(formats).toEqual(['f16', 'f16']);
  });

  it('say what their files hold', () => {
    expect(chain.stages.map((stage) => [stage.embeddingLength, stage.vocabularySize])).toEqual([
      [demoWidth, 1],
      [demoWidth, 1],
      [demoWidth, 1536],
    ]);
  });

  it('take activations from any offset of a buffer', async () => {
    const [first, second] = chain.stages;
    if (first === undefined || second === undefined) throw new Error('no stages');
    const run = { ...wholePrompt(0, 'What is a hop?'), sampling: null };
    const size = run.tokens.length * demoWidth * 4;
    const outputs: Buffer[] = [];
    for (const offset of [0, 1, 3]) {
      const between = new Uint8Array(size + offset).subarray(offset);
      const given = await first.decode({ runs: [run], input: null, output: between, outputFormat: 'f16' });
      const output = new Uint8Array(size + offset).subarray(offset);
      const input = { format: 'f16', bytes: between.subarray(0, given.byteLength) } as const;
      await second.decode({ runs: [run], input, output, outputFormat: 'f32' });
      outputs.push(Buffer.from(output));
    }
    expect(outputs[1]).toEqual(outputs[0]);
    expect(outputs[2]).toEqual(outputs[0]);
  });
});

describe.each(['whole', 'chain'] as const)('slots of the %s', (kind) => {
  const on = () => (kind === 'whole' ? whole : chain);

  it('compute in one step what they compute alone, prompts of different lengths together', async () => {
    const alone: number[][] = [];
    for (const question of questions) alone.push(await generate(on(), promptOf(question), { count: 12 }));

    const slots = [2, 0, 1, 3];
    let runs = questions.map((question, index) => wholePrompt(slots[index] ?? 0, question));
    const together: number[][] = questions.map(() => []);
    for (let i = 0; i < 12; i++) {
      const { sampled } = await on().step(runs, 'f32');
      expect(sampled.map(({ slot }) => slot)).toEqual(slots);
      for (const [index, { token }] of sampled.entries()) together[index]?.push(token);
      runs = sampled.map(({ slot, position, token }) => {
        return { slot, start: position, tokens: Int32Array.of(token), truncateTo: null, sampling: greedy };
      });
    }
    expect(together).toEqual(alone);
  });

  it('sample only where asked, prefills beside decodes', async () => {
    const { sampled: first } = await on().step([wholePrompt(0, 'Who are you?')], 'f32');
    const token = first[0]?.token ?? -1;
    const position = first[0]?.position ?? -1;
    const { sampled } = await on().step(
      [
        { ...wholePrompt(1, 'What is a hop?'), sampling: null },
        { slot: 0, start: position, tokens: Int32Array.of(token), truncateTo: null, sampling: greedy },
      ],
      'f32',
    );
    expect(sampled).toMatchObject([{ slot: 0, position: position + 1, token: expect.any(Number) }]);
    const alone = await generate(on(), promptOf('Who are you?'), { count: 2 });
    expect([token, sampled[0]?.token]).toEqual(alone);
  });

  it('go on from a truncation as if the rest had never been', async () => {
    const prompt = promptOf('What is a stage?');
    const expected = await generate(on(), prompt, { count: 8 });
    await generate(on(), prompt, { count: 20, slot: 2 });
    const last = prompt.length - 1;
    const redo = { slot: 2, start: last, tokens: prompt.subarray(last), sampling: greedy };
    const { sampled } = await on().step([{ ...redo, truncateTo: last }], 'f32');
    expect(sampled[0]?.token).toBe(expected[0]);

    await Promise.all(on().stages.map((stage) => stage.truncate(2, last)));
    const again = await on().step([{ ...redo, truncateTo: null }], 'f32');
    expect(again.sampled).toEqual(sampled);
  });

  it('carry truncations in a step without tokens', async () => {
    const prompt = promptOf('What is a stage?');
    await on().step([wholePrompt(3, 'What is a stage?')], 'f32');
    const nothing = { slot: 3, start: 0, tokens: new Int32Array(0), truncateTo: 4, sampling: null };
    expect((await on().step([nothing], 'f32')).sampled).toEqual([]);
    const rest = { slot: 3, start: 4, tokens: prompt.subarray(4), truncateTo: null, sampling: greedy };
    const { sampled } = await on().step([rest], 'f32');
    expect(sampled[0]?.token).toBe((await generate(on(), prompt, { count: 1 }))[0]);
  });

  it('start from a copied prefix, which outlives its source', async () => {
    const prompt = promptOf('Who are you?');
    const other = promptOf('What is a hop?');
    const shared = prompt.findIndex((token, index) => token !== other[index]);
    const expected = await generate(on(), prompt, { count: 8 });
    await on().step([wholePrompt(0, 'What is a hop?')], 'f32');
    await Promise.all(on().stages.map((stage) => stage.copyPrefix(0, 1, shared)));
    await Promise.all(on().stages.map((stage) => stage.closeSlot(0)));
    const rest = { slot: 1, start: shared, tokens: prompt.subarray(shared), truncateTo: null, sampling: greedy };
    const { sampled } = await on().step([rest], 'f32');
    expect(sampled[0]?.token).toBe(expected[0]);
  });
});

it('a copy takes its turn among steps that nobody waits for, and holds to the bit what its source held then', async () => {
  const [stage] = chain.stages;
  if (stage === undefined) throw new Error('no stages');
  const tokens = (salt: number, length: number) =>
    Int32Array.from({ length }, (_, at) => (at * 37 + salt * 101) % 1500);
  const [prompt, other] = [tokens(1, 60), tokens(2, 50)];
  const rows = async (slot: number, some: Int32Array, start: number): Promise<Buffer> => {
    const output = Buffer.alloc(some.length * demoWidth * 4);
    const run = { slot, start, tokens: some, truncateTo: start, sampling: null };
    await stage.decode({ runs: [run], input: null, output, outputFormat: 'f32' });
    return output;
  };
  const rest = (slot: number): Promise<Buffer> => rows(slot, prompt.subarray(40), 40);
  await rows(0, prompt.subarray(0, 40), 0);
  const alone = await rest(0);
  // What the targets hold before must not matter.
  await Promise.all([rows(1, other, 0), rows(2, other, 0), rows(3, other, 0)]);
  const [, , , first, , , , second] = await Promise.all([
    rows(0, prompt.subarray(0, 45), 0),
    stage.copyPrefix(0, 1, 40),
    // A copy of a copy, before anything was computed from the first.
    stage.copyPrefix(1, 2, 40),
    rest(1),
    // The sources make way for others at once.
    stage.closeSlot(0),
    rows(0, other, 0),
    stage.closeSlot(1),
    rest(2),
    stage.closeSlot(2),
  ]);
  expect(first.equals(alone)).toBe(true);
  expect(second.equals(alone)).toBe(true);
  expect((await rows(0, tokens(3, 20), 50)).equals(await rows(3, tokens(3, 20), 50))).toBe(true);
});

it('a slot gives the same bits whatever other slots do between its steps', async () => {
  const [stage] = chain.stages;
  if (stage === undefined) throw new Error('no stages');
  const prompts = [90, 40, 7].map((length) => Int32Array.from({ length }, (_, index) => (index * 37 + length) % 1500));
  const rows = async (slot: number, start: number, tokens: Int32Array): Promise<Buffer> => {
    const output = Buffer.alloc(tokens.length * demoWidth * 4);
    const run = { slot, start, tokens, truncateTo: null, sampling: null };
    await stage.decode({ runs: [run], input: null, output, outputFormat: 'f32' });
    return output;
  };
  /** A prompt in chunks, then token by token. */
  const steps = (slot: number): (() => Promise<Buffer>)[] => {
    const prompt = prompts[slot] ?? new Int32Array(0);
    const part = (start: number, end: number) => () => rows(slot, start, prompt.subarray(start, end));
    const half = Math.floor(prompt.length / 2);
    return [part(0, half), ...Array.from({ length: prompt.length - half }, (_, at) => part(half + at, half + at + 1))];
  };
  const [alone, together] = [prompts.map((): Buffer[] => []), prompts.map((): Buffer[] => [])];
  for (const slot of prompts.keys()) {
    for (let other = 0; other < 4; other++) await stage.closeSlot(other);
    for (const step of steps(slot)) alone[slot]?.push(await step());
  }
  for (let other = 0; other < 4; other++) await stage.closeSlot(other);
  const all = [...prompts.keys()].map(steps);
  for (let at = 0; at < 50; at++) {
    for (const [slot, own] of all.entries()) {
      const rowsOfStep = await own[at]?.();
      if (rowsOfStep !== undefined) together[slot]?.push(rowsOfStep);
    }
  }
  expect(together).toEqual(alone);
});

describe('values that f16 cannot hold', () => {
  it('make the step fall back to f32', async () => {
    const file = await cutStage(await openModel(demoPath), { start: 0, end: 1 }, folder.at('large.gguf'));
    if (file.embedding === null) throw new Error('the first stage has an embedding');
    const embedding = { ...file.embedding, scale: 1e6 };
    const options = demoOptions({ path: file.path, role: 'first', layers: 1, embedding });
    const stage = await addon.loadStage(options, () => undefined);
    const run = { ...wholePrompt(0, 'What is a hop?'), sampling: null };
    const output = new Uint8Array(run.tokens.length * demoWidth * 4);
    const result = await stage.decode({ runs: [run], input: null, output, outputFormat: 'f16' });
    expect(result).toMatchObject({ format: 'f32', byteLength: output.byteLength });
    expect(Math.max(...new Float32Array(output.buffer).map(Math.abs))).toBeGreaterThan(65504);
    await stage.unload();
  });

  it('are told from those that it can hold by every single value', async () => {
    const [first] = chain.stages;
    if (first === undefined) throw new Error('no stages');
    const run = { ...wholePrompt(0, 'What is a hop?'), sampling: null };
    const wide = new Uint8Array(run.tokens.length * demoWidth * 4);
    const narrow = new Uint8Array(wide.byteLength);
    await first.decode({ runs: [run], input: null, output: wide, outputFormat: 'f32' });
    const { byteLength } = await first.decode({ runs: [run], input: null, output: narrow, outputFormat: 'f16' });
    const halves = new Uint16Array(narrow.buffer, 0, byteLength / 2);
    const floats = new Float32Array(wide.buffer);
    expect(halves.length).toBe(floats.length);
    for (const [index, value] of floats.entries()) {
      expect(Math.abs(halfToNumber(halves[index] ?? 0) - value)).toBeLessThanOrEqual(
        Math.abs(value) * 2 ** -11 + 2 ** -24,
      );
    }
  });
});

/** IEEE 754 binary16. */
function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

describe('memory', () => {
  it('is what the backends allocated: weights of the file, KV of the whole context', () => {
    const [stage] = whole.stages;
    if (stage === undefined) throw new Error('no stage');
    const { weightBytes, kvBytes, computeBytes } = stage.memory();
    // 12 layers x 4 slots of 256 tokens x (K and V of 2 heads of 32) x 2 bytes: 256 is the least of a slot.
    expect(kvBytes).toBe(12 * 4 * 256 * 2 * 64 * 2);
    expect(weightBytes).toBeGreaterThan(readFileSync(demoPath).byteLength * 0.9);
    expect(computeBytes).toBeGreaterThan(0);
  });

  it('of the KV is about half with q8_0, which still answers', async () => {
    const small = chainOf([await addon.loadStage(demoOptions({ kvType: 'q8_0' }), () => undefined)]);
    // A block of 32 values takes 34 bytes; llama.cpp reports to 0.01 MiB.
    const difference = (small.stages[0]?.memory().kvBytes ?? 0) - 12 * 4 * 256 * 2 * 2 * 34;
    expect(Math.abs(difference)).toBeLessThan(0.006 * 2 ** 20);
    expect(await answer(small, 'What is a hop?')).toBe(hopAnswer);
    await small.unload();
  });
});
