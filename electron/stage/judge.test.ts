import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../gguf/testing/temporaryFolder.ts';
import { loadAddon } from './loadAddon.ts';
import type { NativeAddon } from './nativeAddon.ts';
import { demoOptions, demoPath } from './testing/demoModel.ts';
import { generate } from './testing/generate.ts';
import { judge } from './testing/judge.ts';
import { chainOf, loadChain } from './testing/stageChain.ts';

/** Longer than one batch, one batch, and short; ids of ordinary tokens without meaning, which is the harder case. */
const prompts = [5, 64, 150].map((length) => Array.from({ length }, (_, index) => (index * 37 + length) % 1500));
const setting = { contextLength: 512, batch: 64, threads: 1 };
const count = 48;

let addon: NativeAddon;
let expected: number[][];
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
      expect(tokens).toEqual(expected[index]);
    }
    await chain.unload();
  });

  it('for two stages, all prompts at once', async () => {
    const chain = await loadChain(addon, demoOptions(setting), [7], folder.at('.'));
    const answers = await Promise.all(
      prompts.map((prompt, slot) => generate(chain, Int32Array.from(prompt), { count, slot, chunk: setting.batch })),
    );
    expect(answers).toEqual(expected);
    await chain.unload();
  });
});
