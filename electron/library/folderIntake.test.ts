import { copyFile, readFile, stat, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { generateModel } from '../../e2e/models/generateModel.ts';
import { openModel } from '../gguf/openModel.ts';
import { temporaryFolder } from '../gguf/testing/temporaryFolder.ts';
import { FolderIntake } from './folderIntake.ts';

const folder = temporaryFolder();
beforeAll(folder.make);
afterAll(folder.remove);

let taken: string[] = [];
let now = 0;
beforeEach(() => {
  taken = [];
});
const intake = () =>
  new FolderIntake({
    isKnown: (path) => taken.includes(path),
    take: async (path) => {
      await openModel(path);
      taken.push(path);
    },
    now: () => now,
  });

it('waits until a file is written and its set is whole', async () => {
  const shape = { layers: 2, width: 32, heads: 2, kvHeads: 1, feedForward: 64, vocabulary: 300, tied: true } as const;
  const files = await generateModel(folder.at('set.gguf'), { architecture: 'llama', ...shape, seed: 1, shards: 2 });
  const [first = '', second = ''] = files;
  await folder.makeIn('in');
  const there = (path: string) => folder.at(`in/${basename(path)}`);
  const of = intake();
  const bytes = await readFile(first);
  await writeFile(there(first), bytes.subarray(0, bytes.byteLength - 10));
  now = (await stat(there(first))).mtimeMs + 100;
  expect(await of.look([there(first)])).toBeGreaterThan(0);
  await writeFile(there(first), bytes);
  expect(await of.look([there(first)])).toBeGreaterThan(0);
  expect(of.refused()).toEqual([]);
  expect(await of.look([there(first)])).toBeNull();
  expect(of.refused()).toEqual([
    { path: there(first), problem: `${there(second)} is missing: the model needs every file of its split set.` },
  ]);
  await copyFile(second, there(second));
  await of.look([there(first)]);
  expect({ taken, refused: of.refused() }).toEqual({ taken: [there(first)], refused: [] });
});

it('takes an old file at once, and looks at one that is no model only when it changes', async () => {
  const path = folder.at('diary.gguf');
  await writeFile(path, 'Dear diary');
  now = (await stat(path)).mtimeMs + 60_000;
  let opens = 0;
  const of = new FolderIntake({
    isKnown: () => false,
    take: async () => {
      opens += 1;
      await openModel(path);
    },
    now: () => now,
  });
  for (let times = 0; times < 3; times++) expect(await of.look([path])).toBeNull();
  expect(opens).toBe(1);
  await writeFile(path, 'Dear diary, today');
  await of.look([path]);
  await of.look([path]);
  expect(opens).toBe(2);
  await of.look([]);
  expect(of.refused()).toEqual([]);
});
