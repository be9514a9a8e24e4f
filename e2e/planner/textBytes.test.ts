import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { modelShape } from '../../electron/gguf/modelShape.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { servingSizes } from '../../electron/pipeline/placement/servingSizes.ts';
import { stageBytes } from '../../electron/planner/stageBytes.ts';
import { thisMachine } from '../../electron/stage/librariesFolder.ts';
import { loadAddon } from '../../electron/stage/loadAddon.ts';
import { generateEmbedder } from '../models/generateEmbedder.ts';
import { generateModel } from '../models/generateModel.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-text-bytes-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const grain = 0.01 * 2 ** 20;

const encoder = async (architecture: 'bert' | 'nomic-bert'): Promise<string> =>
  generateEmbedder(join(folder, `${architecture}.gguf`), {
    ...{ architecture, layers: 3, width: 256, heads: 8, feedForward: 1024, contextLength: 2048, pooling: 1, seed: 4 },
  });
/** Takes the first token, so that its texts are computed whole: with a cache and a head, of which it needs neither. */
const decoder = async (): Promise<string> => {
  const shape = { layers: 3, width: 256, heads: 8, kvHeads: 2, feedForward: 1024, vocabulary: 4096, seed: 4 };
  const model = { architecture: 'qwen3', headLength: 32, tied: true, pooling: 2, ...shape } as const;
  const [path = ''] = await generateModel(join(folder, 'decoder.gguf'), model);
  return path;
};

test.each([
  ['bert', 256],
  ['bert', 512],
  ['nomic-bert', 2048],
  ['decoder', 512],
] as const)('llama.cpp takes for texts of %s up to %i tokens what the planner counts', async (kind, contextLength) => {
  const path = await (kind === 'decoder' ? decoder() : encoder(kind));
  const source = await openModel(path);
  const shape = modelShape(source);
  const sizes = servingSizes(shape, { contextLength });
  const { addon } = loadAddon({ ...thisMachine, env: { ...process.env, ROOMFUL_BACKEND: 'cpu' } });
  const loaded = await addon.loadStage(
    {
      ...{ path, role: 'embedder', layers: 3, embedding: null, vocabulary: null, ...sizes },
      ...{ threads: 1, gpuLayers: 0, device: null, maxOutputs: sizes.slots },
    },
    () => {},
  );
  const real = loaded.memory();
  await loaded.unload();
  const planned = stageBytes(shape, { start: 0, end: 3 }, sizes, 'cpu');
  expect(Math.abs(real.kvBytes - planned.kv)).toBeLessThan(grain);
  expect(planned.compute).toBeGreaterThan(real.computeBytes - grain);
  expect(planned.compute).toBeLessThan(real.computeBytes * 1.5 + grain);
});
