import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cutStage } from '../../electron/gguf/cutStage.ts';
import { modelShape } from '../../electron/gguf/modelShape.ts';
import { type ModelSource, openModel } from '../../electron/gguf/openModel.ts';
import { stageBytes } from '../../electron/planner/stageBytes.ts';
import { thisMachine } from '../../electron/stage/librariesFolder.ts';
import { loadAddon } from '../../electron/stage/loadAddon.ts';
import { generateModel } from '../models/generateModel.ts';

let folder = '';
let source: ModelSource;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-bytes-'));
  const [path = ''] = await generateModel(join(folder, 'model.gguf'), {
    architecture: 'qwen3',
    layers: 4,
    width: 256,
    heads: 8,
    kvHeads: 2,
    headLength: 32,
    feedForward: 1024,
    vocabulary: 4096,
    tied: true,
    seed: 1,
  });
  source = await openModel(path);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The backend reports hundredths of a MiB. */
const grain = 0.01 * 2 ** 20;

describe.each([
  { contextLength: 256, slots: 1, batch: 64, kvType: 'f16' as const },
  { contextLength: 1024, slots: 3, batch: 128, kvType: 'f16' as const },
  { contextLength: 4096, slots: 4, batch: 512, kvType: 'f16' as const },
  { contextLength: 16_384, slots: 2, batch: 256, kvType: 'f16' as const },
  { contextLength: 4096, slots: 4, batch: 512, kvType: 'q8_0' as const },
])('with $contextLength tokens over $slots slots, steps of $batch and $kvType', (sizes) => {
  test.each([
    [0, 2],
    [2, 3],
    [3, 4],
  ])('llama.cpp takes for layers %i to %i what the planner counts', async (start, end) => {
    const { addon } = loadAddon({ ...thisMachine, env: { ...process.env, ROOMFUL_BACKEND: 'cpu' } });
    const stage = await cutStage(source, { start, end }, join(folder, `${start}-${end}.gguf`));
    const options = { ...stage, ...sizes, threads: 1, gpuLayers: 0, device: null, maxOutputs: sizes.slots };
    const loaded = await addon.loadStage(options, () => {});
    const real = loaded.memory();
    await loaded.unload();
    const planned = stageBytes(modelShape(source), { start, end }, sizes, 'cpu');
    expect(Math.abs(real.kvBytes - planned.kv)).toBeLessThan(grain);
    expect(planned.compute).toBeGreaterThan(real.computeBytes - grain);
    // The last layer goes on with the rows that are asked for, which is much less where its attention is small.
    if (end < 4) expect(planned.compute).toBeLessThan(real.computeBytes * 1.5 + grain);
  });
});
