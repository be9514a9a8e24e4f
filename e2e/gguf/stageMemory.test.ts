import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cutStage } from '../../electron/gguf/cutStage.ts';
import { modelShape } from '../../electron/gguf/modelShape.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { thisMachine } from '../../electron/stage/librariesFolder.ts';
import { loadAddon } from '../../electron/stage/loadAddon.ts';
import { generateModel } from '../models/generateModel.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-memory-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('llama.cpp allocates the KV that the shape foretells', async () => {
  const { addon } = loadAddon({ ...thisMachine, env: { ...process.env, ROOMFUL_BACKEND: 'cpu' } });
  const shape = { layers: 4, width: 128, heads: 4, kvHeads: 2, headLength: 64, feedForward: 128, vocabulary: 512 };
  const [path = ''] = await generateModel(join(folder, 'model.gguf'), {
    architecture: 'qwen3',
    tied: true,
    seed: 1,
    ...shape,
  });
  const source = await openModel(path);
  const contextLength = 4096;
  for (const [start, end] of [[0, 1] as const, [1, 4] as const]) {
    const stage = await cutStage(source, { start, end }, join(folder, `from${start}.gguf`));
    const fixed = {
      slots: 1,
      batch: 32,
      threads: 1,
      gpuLayers: 0,
      device: null,
      kvType: 'f16',
      maxOutputs: 1,
    } as const;
    const loaded = await addon.loadStage({ ...stage, ...fixed, contextLength }, () => {});
    const layers = modelShape(source).layers.slice(start, end);
    const foretold = layers.reduce((sum, { kvBytesPerToken }) => sum + kvBytesPerToken * contextLength, 0);
    const { kvBytes } = loaded.memory();
    await loaded.unload();
    // The backend reports hundredths of a MiB.
    expect(Math.abs(kvBytes - foretold)).toBeLessThan(0.01 * 2 ** 20);
  }
});
