import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadAddon } from '../../electron/stage/loadAddon.ts';
import { demoOptions, greedy, plain } from '../../electron/stage/testing/demoModel.ts';
import { generate } from '../../electron/stage/testing/generate.ts';
import { generateWithDrafts } from '../../electron/stage/testing/generateWithDrafts.ts';
import { loadChain } from '../../electron/stage/testing/stageChain.ts';
import { generateModel } from '../models/generateModel.ts';
import type { RandomTensorType } from '../models/randomTensor.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-drafts-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Random weights tell most: every rounding has its say in which token comes next. */
test.each<RandomTensorType>(['F32', 'F16', 'Q4_0', 'Q8_0'])(
  'drafts that are computed row by row change nothing with weights of %s',
  async (type) => {
    const width = { width: 256, heads: 4, kvHeads: 2, feedForward: 512 };
    const shape = { architecture: 'llama', layers: 4, ...width, vocabulary: 2048, tied: false, seed: 9 } as const;
    const types = { embedding: type, output: type, attention: type, feedForward: type };
    const [path = ''] = await generateModel(join(folder, `${type}.gguf`), { ...shape, types });
    const prompt = Int32Array.from({ length: 70 }, (_, index) => 300 + ((index * 97) % 1500));
    const options = demoOptions({ path, layers: 4, contextLength: 2048, maxOutputs: 9 });
    const chain = await loadChain(loadAddon().addon, options, [2], folder);
    for (const sampling of [greedy, { ...plain, temperature: 0.7, seed: 3n }]) {
      const truth = await generate(chain, prompt, { count: 48, sampling });
      for (const length of [1, 3, 6]) {
        const propose = (index: number) =>
          truth.slice(index, index + length).map((token, at) => ((index + at) % 7 === 6 ? token ^ 1 : token));
        const how = { count: 40, sampling, propose, ahead: length === 3, rowByRow: true };
        const answer = await generateWithDrafts(chain, prompt, how);
        expect(answer.tokens, `${length} drafts`).toEqual(truth.slice(0, 40));
        expect(answer.accepted).toBeGreaterThan(10);
      }
    }
    await chain.unload();
  },
);
