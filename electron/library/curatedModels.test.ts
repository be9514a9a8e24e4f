import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describedShape } from '../planner/describedShape.ts';
import { plan } from '../planner/plan.ts';
import { readCuratedModels } from './curatedModels.ts';
import { parseModelReference } from './download/modelReference.ts';

const list = fileURLToPath(new URL('../../resources/models.json', import.meta.url));
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-catalogue-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('the list that comes with Roomful can be pulled and planned, smallest first', async () => {
  const models = await readCuratedModels(list);
  expect(models.length).toBeGreaterThanOrEqual(10);
  expect(models.map(({ bytes }) => bytes)).toEqual(models.map(({ bytes }) => bytes).sort((a, b) => a - b));
  for (const model of models) {
    expect(parseModelReference(model.reference)).toMatchObject({ kind: 'hub' });
    const shape = describedShape(model);
    const held = shape.layers.reduce((sum, { weightBytes }) => sum + weightBytes, shape.embeddingBytes);
    const all = held + shape.outputBytes - (shape.tiedBytes ?? 0);
    expect(Math.abs(all - model.bytes)).toBeLessThan(shape.layers.length);
    // Between 2 and 10 bits a weight, or a number was mistyped.
    expect((model.bytes * 8) / model.parameters).toBeGreaterThan(2);
    expect((model.bytes * 8) / model.parameters).toBeLessThan(10);
    const room = (memoryBytes: number) => [{ address: 'a', backend: 'Cuda', memoryBytes, build: 'b' } as const];
    expect(plan(room(model.bytes * 4), shape).fit).toBe('RunLocal');
    expect(plan(room(model.bytes / 2), shape).fit).toBe('DoesNotFit');
  }
});

it.each([
  ['no JSON', 'models:'],
  ['a number in words', JSON.stringify({ models: [{ name: 'x', reference: 'hf:a/b', bytes: 'many' }] })],
])('an edited list that is wrong is named in one line: %s', async (_name, text) => {
  const path = join(folder, 'catalogue.json');
  await writeFile(path, text);
  await expect(readCuratedModels(path)).rejects.toThrow(new RegExp(`^${path} is no list of models: [^\n]+$`));
});
