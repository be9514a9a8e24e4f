import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../../electron/gguf/testing/temporaryFolder.ts';
import { loadAddon } from '../../electron/stage/loadAddon.ts';
import { measureRowCosts } from '../../electron/stage/measureRowCosts.ts';
import type { NativeLoadOptions, NativeRun } from '../../electron/stage/nativeAddon.ts';
import { demoOptions, greedy } from '../../electron/stage/testing/demoModel.ts';
import { loadChain, type StageChain } from '../../electron/stage/testing/stageChain.ts';
import { generateModel } from '../models/generateModel.ts';

const { addon } = loadAddon();
const folder = temporaryFolder();
const CONTEXT = 32;
/** Every value that a row can differ in. */
const sampling = { ...greedy, topLogprobs: 512 };
let options: NativeLoadOptions;
let chain: StageChain;
beforeAll(async () => {
  await folder.make();
  const path = folder.at('q4.gguf');
  await generateModel(path, {
    ...{ architecture: 'llama', layers: 3, width: 256, heads: 4, kvHeads: 2, feedForward: 512, vocabulary: 512 },
    ...{ tied: true, seed: 3, types: { embedding: 'Q4_0', attention: 'Q4_0', feedForward: 'Q4_0' } },
  });
  // Weights whose kernels take rows in fours, and a row like any other there (repack.cpp of ggml-cpu).
  options = demoOptions({ path, layers: 3, slots: 6, contextLength: CONTEXT * 6, maxOutputs: 6 });
  chain = await loadChain(addon, options, [1, 2], folder.at('.'), { withVocabulary: false });
});
afterAll(async () => {
  await chain.unload();
  await folder.remove();
});

const prompt = (slot: number, length: number): NativeRun => {
  const tokens = Int32Array.from({ length }, (_, index) => 20 + 31 * slot + 7 * index);
  return { slot, start: 0, tokens, truncateTo: 0, sampling: null };
};
const decode = (slot: number, start: number, fields: Partial<NativeRun> = {}): NativeRun => {
  return { slot, start, tokens: Int32Array.of(100 + slot), truncateTo: null, sampling, ...fields };
};
const pad = (slot: number, padRows = 1): NativeRun => {
  return { slot, start: 0, tokens: new Int32Array(0), truncateTo: null, sampling: null, padRows };
};
const begin = (...runs: NativeRun[]) => chain.step(runs, 'f32');
const close = async (): Promise<void> => {
  for (let slot = 0; slot < options.slots; slot += 1) {
    for (const stage of chain.stages) await stage.closeSlot(slot);
  }
};

test('rows that pad change no bit of the others and leave nothing in the slots they filled', async () => {
  const prompts = [prompt(0, 5), prompt(1, 9), prompt(2, 3), prompt(4, 7)];
  const later = [decode(0, 6), decode(1, 9), decode(2, 4), decode(4, 7)];
  await begin(...prompts);
  const plain = await begin(decode(0, 5), decode(2, 3));
  const plainLater = await begin(...later);
  await close();
  await begin(...prompts);
  const padded = await begin(decode(0, 5), pad(1), decode(2, 3), pad(3), pad(4));
  const paddedLater = await begin(...later);
  await close();
  expect(plain.sampled[0]?.top).toHaveLength(512);
  expect(padded).toEqual(plain);
  expect(paddedLater).toEqual(plainLater);
});

test('a slot that waits for the token after its drafts can pad others meanwhile', async () => {
  const answers = async (pads: NativeRun[]) => {
    await begin(prompt(0, 5), prompt(1, 5));
    const [first] = (await begin(decode(1, 5))).sampled;
    await begin(decode(0, 5), ...pads);
    // A run of drafts alone goes on where the sampled token is its first.
    const ahead = await begin(decode(1, 6, { tokens: Int32Array.of(first?.token ?? 0), drafts: 1 }));
    await close();
    return ahead;
  };
  const plain = await answers([]);
  expect(plain.dropped).toBe(0);
  expect(await answers([pad(1)])).toEqual(plain);
});

test('pads that find no room are left out', async () => {
  await begin(prompt(0, 5), prompt(1, CONTEXT));
  const padded = await begin(decode(0, 5), pad(1), pad(2, 60));
  await close();
  await begin(prompt(0, 5));
  expect(padded.sampled).toEqual((await begin(decode(0, 5))).sampled);
  expect((await begin(prompt(1, CONTEXT))).failures).toEqual([]);
  await close();
});

test('what rows cost is measured on every stage and leaves nothing behind', async () => {
  const roles = ['first', 'middle', 'last'] as const;
  for (const [index, role] of roles.entries()) {
    const stage = chain.stages[index];
    if (stage === undefined) throw new Error('no stage');
    const costs = await measureRowCosts(stage, { role });
    for (const rows of [1, 2, 3, 4, 5]) expect(costs.ms(rows)).toBeGreaterThan(0);
    expect(costs.ms(6)).toBe(costs.ms(4) + costs.ms(2));
  }
  await begin(prompt(0, CONTEXT));
  await close();
});
