import {
  copyFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { generateModel } from '../../e2e/models/generateModel.ts';
import { eventually } from '../../e2e/testing/eventually.ts';
import { modelFingerprint } from '../gguf/modelFingerprint.ts';
import { openModel } from '../gguf/openModel.ts';
import { temporaryFolder } from '../gguf/testing/temporaryFolder.ts';
import type { LibraryModel } from './libraryState.ts';
import { ModelLibrary } from './modelLibrary.ts';

const folder = temporaryFolder();
beforeAll(folder.make);
afterAll(folder.remove);

const shape = { layers: 2, width: 32, heads: 2, kvHeads: 1, feedForward: 64, vocabulary: 300, tied: true } as const;
const make = (path: string, seed = 1, shards = 1) =>
  generateModel(path, { architecture: 'llama', ...shape, seed, shards });
const never = new AbortController().signal;

const opened: ModelLibrary[] = [];
const problems: unknown[] = [];
let homes = 0;
async function library(home = folder.at(`home ${homes++}`)): Promise<ModelLibrary> {
  await mkdir(home, { recursive: true });
  const found = await ModelLibrary.open({ home, onProblem: (problem) => problems.push(problem) });
  opened.push(found);
  return found;
}
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
  expect(problems.splice(0)).toEqual([]);
});

/** Twice, since a file counts as written when two looks found it the same. */
async function look(of: ModelLibrary): Promise<void> {
  await of.look();
  await of.look();
}

/** Some time ago, so that the file counts as written. */
async function settled(path: string): Promise<void> {
  const then = new Date(Date.now() - 60_000);
  await utimes(path, then, then);
}

/** A model with weights between those of the sample, and where one of them lies. */
async function large(name: string, seed: number): Promise<{ path: string; tensor: string; at: number }> {
  const path = folder.at(name);
  await generateModel(path, { architecture: 'llama', ...shape, vocabulary: 6000, seed });
  const tensor = 'token_embd.weight';
  return { path, tensor, at: ((await openModel(path)).tensors.get(tensor)?.offset ?? 0) + 2 };
}

async function flip(path: string, at: number): Promise<void> {
  const file = await open(path, 'r+');
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, at);
  await file.write(Buffer.from([(byte[0] ?? 0) ^ 0x10]), 0, 1, at);
  await file.close();
}

const stateOf = (of: ModelLibrary, id: string): LibraryModel | undefined =>
  of.state().models.find((model) => model.id === id);

describe('import', () => {
  it('takes a model by its path, copies nothing and knows it after a restart', async () => {
    const home = folder.at('kept home');
    const [path = ''] = await make(folder.at('plain.gguf'));
    const first = await library(home);
    const model = await first.import(path);
    expect(model).toMatchObject({
      id: modelFingerprint(await openModel(path)),
      name: 'random-llama-1-f32',
      title: 'random llama 1',
      architecture: 'llama',
      layers: 2,
      origin: 'imported',
      files: [path],
      state: 'ready',
    });
    const hashes = await first.hashes(model.id);
    await first.close();
    expect(await readdir(join(home, 'models'))).toEqual([]);
    const again = await library(home);
    expect(stateOf(again, model.id)).toMatchObject({ state: 'ready', hashed: true });
    expect(await again.hashes(model.id)).toEqual(hashes);
    expect((await again.open(model.id)).tensors.size).toBe(hashes.tensors.size);
  });

  it('finds a split set by any of its files, once', async () => {
    const of = await library();
    const files = await make(folder.at('split set.gguf'), 2, 3);
    const models = [];
    for (const path of files) models.push(await of.import(path));
    expect(new Set(models.map(({ id }) => id)).size).toBe(1);
    expect(models[0]?.files).toEqual(files);
    expect(of.state().models).toHaveLength(1);
  });

  it('refuses what is no model and a path that is not whole', async () => {
    const of = await library();
    await writeFile(folder.at('diary.gguf'), 'Dear diary');
    await expect(of.import(folder.at('diary.gguf'))).rejects.toThrow(/diary\.gguf is not a GGUF file/);
    await expect(of.import('diary.gguf')).rejects.toMatchObject({ code: 'BadReference' });
    expect(of.state().models).toEqual([]);
  });

  it('keeps the first copy of a model, and takes the other when it is gone', async () => {
    const of = await library();
    const [path = ''] = await make(folder.at('one.gguf'), 3);
    const copy = folder.at('its copy.gguf');
    await copyFile(path, copy);
    const { id } = await of.import(path);
    expect((await of.import(copy)).files).toEqual([path]);
    await rm(path);
    expect(await of.import(copy)).toMatchObject({ id, files: [copy], state: 'ready' });
  });

  it('refuses what has the header, the size and the sample of a model, but not its weights', async () => {
    const of = await library();
    const { path, at, tensor } = await large('original.gguf', 30);
    const { id } = await of.import(path);
    const [copy, other] = [folder.at('true copy.gguf'), folder.at('altered.gguf')];
    await copyFile(path, copy);
    await copyFile(path, other);
    await flip(other, at);
    expect(modelFingerprint(await openModel(other))).toBe(id);
    expect((await of.import(copy)).files).toEqual([path]);
    const refusal = { code: 'Differs', message: expect.stringContaining(`other weights: ${tensor}. `) };
    await expect(of.import(other)).rejects.toMatchObject(refusal);
    expect(of.state().models.map(({ files }) => files)).toEqual([[path]]);
    // In a watched folder it is said as well, once it is known.
    await of.addFolder(folder.at('.'));
    await eventually(async () => {
      await look(of);
      const said = of.state().skipped.find((skipped) => skipped.path === other);
      expect(said?.problem).toMatch(/other weights/);
    });
    await of.remove(id);
    expect(await of.import(other)).toMatchObject({ id, files: [other] });
  });

  it('tells checkpoints of one shape apart at once', async () => {
    const of = await library();
    const [first = ''] = await make(folder.at('checkpoint 1.gguf'), 33);
    const [second = ''] = await make(folder.at('checkpoint 2.gguf'), 34);
    const bytes = await readFile(second);
    const { tensors, files } = await openModel(first);
    const data = Math.min(...[...tensors.values()].map(({ offset }) => offset));
    // The same header, down to the name.
    await writeFile(second, Buffer.concat([(await readFile(first)).subarray(0, data), bytes.subarray(data)]));
    expect((await openModel(second)).files[0]?.headerSha256).toBe(files[0]?.headerSha256);
    const ids = [(await of.import(first)).id, (await of.import(second)).id];
    expect(new Set(ids).size).toBe(2);
  });

  it('is called by id, name, file and path, and says when that is not clear', async () => {
    const of = await library();
    const [path = ''] = await make(folder.at('called.gguf'), 4);
    const { id } = await of.import(path);
    for (const called of [id, id.slice(0, 8), 'random-llama-4-f32', 'Random-Llama-4', 'called.gguf', path]) {
      expect(of.called(called).id).toBe(id);
    }
    expect(of.find(id.slice(0, 3))).toBeNull();
    expect(() => of.called('nobody')).toThrow(/No model of the library is called nobody/);
    const other = folder.at('other called.gguf');
    await generateModel(other, { architecture: 'llama', ...shape, layers: 3, seed: 4 });
    await of.import(other);
    expect(() => of.called('random-llama-4')).toThrow(/Several models are called random-llama-4: .*Give the id/);
  });
});

describe('a file that is not as it was', () => {
  it('is noticed and named when it has moved, and found where it is', async () => {
    const of = await library();
    const [path = ''] = await make(folder.at('moving.gguf'), 5);
    const { id } = await of.import(path);
    await of.hashes(id);
    const moved = folder.at('moved.gguf');
    await rename(path, moved);
    await expect(of.open(id)).rejects.toMatchObject({ code: 'FileGone', message: expect.stringContaining(path) });
    expect(stateOf(of, id)).toMatchObject({ state: 'gone', problem: expect.stringContaining('moved') });
    // Known by its inode: it is held against the hashes of before.
    const { weights } = await of.import(moved);
    await of.hashes(id);
    expect(stateOf(of, id)).toMatchObject({ id, files: [moved], state: 'ready', hashed: true, weights });
  });

  it('is noticed when another model takes its place', async () => {
    const of = await library();
    const [path = ''] = await make(folder.at('replaced.gguf'), 6);
    const { id } = await of.import(path);
    await generateModel(path, { architecture: 'llama', ...shape, layers: 4, seed: 6 });
    await expect(of.open(id)).rejects.toMatchObject({ code: 'FileChanged', message: expect.stringContaining(path) });
    await writeFile(path, 'no model at all');
    await of.look();
    expect(stateOf(of, id)).toMatchObject({ state: 'changed', problem: expect.stringContaining('is not a GGUF') });
  });

  it('is noticed when one byte of its weights differs, until it is imported anew', async () => {
    const of = await library();
    const [path = ''] = await make(folder.at('rotten.gguf'), 7);
    const { id } = await of.import(path);
    const before = await of.hashes(id);
    const offset = (await of.open(id)).tensors.get('blk.1.ffn_up.weight')?.offset ?? 0;
    const file = await open(path, 'r+');
    await file.write(Buffer.from([0x5a]), 0, 1, offset + 17);
    await file.close();
    await settled(path);
    await expect(of.hashes(id)).rejects.toMatchObject({
      code: 'FileChanged',
      message: expect.stringContaining('blk.1.ffn_up.weight'),
    });
    expect(stateOf(of, id)).toMatchObject({ state: 'damaged', problem: expect.stringContaining(path) });
    await of.import(path);
    const after = await of.hashes((await of.import(path)).id);
    expect([...after.tensors].filter(([name, hash]) => before.tensors.get(name) !== hash)).toHaveLength(1);
  });

  it('is taken as it is now by an import, whatever was known before', async () => {
    const of = await library();
    const [path = ''] = await make(folder.at('retrained.gguf'), 18);
    const { id } = await of.import(path);
    await of.hashes(id);
    const file = await open(path, 'r+');
    await file.write(Buffer.from([0x5a]), 0, 1, (await file.stat()).size - 40);
    await file.close();
    await settled(path);
    const { id: now } = await of.import(path);
    await of.hashes(now);
    expect(stateOf(of, now)).toMatchObject({ state: 'ready', hashed: true });
  });

  it('is noticed although its time of change was put back, named, and still known after a restart', async () => {
    const home = folder.at('sly home');
    const of = await library(home);
    const { path, at, tensor } = await large('sly.gguf', 31);
    const { id } = await of.import(path);
    await of.hashes(id);
    const { atime, mtime } = await stat(path);
    await flip(path, at);
    await utimes(path, atime, mtime);
    const named = { code: 'FileChanged', message: expect.stringContaining(tensor) };
    await expect(of.hashes(id)).rejects.toMatchObject(named);
    await of.close();
    const again = await library(home);
    expect(stateOf(again, id)).toMatchObject({ state: 'damaged', problem: expect.stringContaining(tensor) });
    await expect(again.open(id)).rejects.toMatchObject(named);
  });

  it('is held against the hash of all weights where the table of hashes has decayed', async () => {
    const home = folder.at('table home');
    const of = await library(home);
    const { path, at } = await large('table.gguf', 32);
    const { id } = await of.import(path);
    const right = await of.hashes(id);
    const table = join(home, 'library', 'hashes', `${id}.json`);
    const text = await readFile(table, 'utf8');
    await writeFile(
      table,
      text.replace(/"([0-9a-f])([0-9a-f]{63})"\]\]/, (_, digit, rest) => `"${digit === '0' ? '1' : '0'}${rest}"]]`),
    );
    expect(await readFile(table, 'utf8')).not.toBe(text);
    expect(await of.hashes(id)).toEqual(right);
    expect(await readFile(table, 'utf8')).toBe(text);
    await rm(table);
    await flip(path, at);
    await expect(of.hashes(id)).rejects.toMatchObject({ code: 'FileChanged' });
  });

  it('is read again when it was only touched', async () => {
    const of = await library();
    const [path = ''] = await make(folder.at('touched.gguf'), 8);
    const { id } = await of.import(path);
    const hashes = await of.hashes(id);
    await settled(path);
    expect(await of.hashes(id)).toEqual(hashes);
    expect(stateOf(of, id)).toMatchObject({ state: 'ready', hashed: true });
  });

  it('verify names what is damaged, also by the hashes of the hub alone', async () => {
    const of = await library();
    const [path = ''] = await make(folder.at('verified.gguf'), 9);
    const { id } = await of.import(path);
    await of.hashes(id);
    expect(await of.verify(id, never)).toMatchObject({ compared: true, damaged: [] });
    const [other = ''] = await make(folder.at('published.gguf'), 10);
    const wrong = await of.import(other, { origin: 'downloaded', published: ['0'.repeat(64)] });
    expect(await of.verify(wrong.id, never)).toMatchObject({ compared: true, damaged: [other] });
  });
});

it('whoever asks for the list hears at once that a file was moved', async () => {
  const of = await library();
  const path = folder.at('moved away.gguf');
  await make(path, 24);
  await of.import(path);
  await rename(path, folder.at('moved.gguf'));
  await of.lookAtFiles();
  expect(of.state().models).toMatchObject([{ state: 'gone', problem: expect.stringContaining('moved away.gguf') }]);
});

describe('watched folders', () => {
  it('are looked into, with links and loops, and what is no model is named', async () => {
    const of = await library();
    const inside = join(of.modelsFolder, 'user', 'some model ✗');
    await mkdir(inside, { recursive: true });
    const files = await make(join(inside, 'deep.gguf'), 11, 2);
    await writeFile(join(of.modelsFolder, 'broken.gguf'), 'GGUF');
    await symlink(of.modelsFolder, join(inside, 'loop'));
    await symlink('nowhere.gguf', join(of.modelsFolder, 'dangling.gguf'));
    for (const path of [...files, join(of.modelsFolder, 'broken.gguf')]) await settled(path);
    await look(of);
    expect(of.state().models.map((model) => [model.origin, model.files])).toEqual([['folder', files]]);
    expect(of.state().skipped.map(({ path }) => basename(path))).toEqual(['broken.gguf']);
  });

  it('follow a file that is renamed, replaced or deleted in them', async () => {
    const of = await library();
    const path = join(of.modelsFolder, 'first name.gguf');
    await make(path, 13);
    await settled(path);
    await look(of);
    const [{ id } = { id: '' }] = of.state().models;
    await of.hashes(id);
    const renamed = join(of.modelsFolder, 'second name.gguf');
    await rename(path, renamed);
    await look(of);
    expect(of.state().models).toMatchObject([{ id, files: [renamed], state: 'ready' }]);
    await make(renamed, 14);
    await settled(renamed);
    await look(of);
    expect(of.state().models).toMatchObject([{ title: 'random llama 14', state: 'ready' }]);
    await rm(renamed);
    await look(of);
    expect(of.state().models).toEqual([]);
  });

  it('are added and removed, and a missing one is refused', async () => {
    const of = await library();
    const more = folder.at('more models');
    await mkdir(more);
    await make(join(more, 'added.gguf'), 15);
    await settled(join(more, 'added.gguf'));
    await of.addFolder(more);
    expect(of.state().models).toMatchObject([{ title: 'random llama 15' }]);
    expect(of.state().folders.map(({ path }) => path)).toEqual([of.modelsFolder, more]);
    await expect(of.addFolder(folder.at('missing'))).rejects.toThrow(/missing is not there/);
    // A disk that is unplugged takes its models along only for a while.
    await rename(more, folder.at('unplugged'));
    await look(of);
    expect(of.state().models).toMatchObject([{ state: 'gone' }]);
    await rename(folder.at('unplugged'), more);
    await look(of);
    expect(of.state().models).toMatchObject([{ state: 'ready' }]);
    await of.removeFolder(more);
    expect(of.state().models).toHaveLength(1);
  });
});

describe('removing', () => {
  it('keeps the file of an import, and deletes what was downloaded', async () => {
    const of = await library();
    const [path = ''] = await make(folder.at('mine.gguf'), 16);
    const mine = await of.import(path);
    expect(await of.remove(mine.id)).toEqual([]);
    const fetched = (await of.import(path, { origin: 'downloaded', from: 'hf:a/b' })).id;
    expect(await of.remove(fetched)).toEqual([path]);
    await expect(readFile(path)).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(of.open(fetched)).rejects.toMatchObject({ code: 'UnknownModel' });
  });

  it('deletes what a window copied in for a drop', async () => {
    const of = await library();
    const [path = ''] = await make(join(of.modelsFolder, 'dropped.gguf'), 18);
    const { id, origin } = await of.importCopies([path]);
    expect(origin).toBe('dropped');
    expect(await of.remove(id)).toEqual([path]);
    expect(await readdir(of.modelsFolder)).toEqual([]);
  });

  it('of the copies of a drop happens at once where they are no model, or one that is here', async () => {
    const of = await library();
    const [mine = ''] = await make(folder.at('here already.gguf'), 19);
    const here = await of.import(mine);
    const noModel = join(of.modelsFolder, 'no model.gguf');
    await writeFile(noModel, 'hello');
    await expect(of.importCopies([noModel])).rejects.toMatchObject({ code: 'NotGguf' });
    const [copy = ''] = await make(join(of.modelsFolder, 'copy.gguf'), 19);
    expect(await of.importCopies([copy])).toMatchObject({ id: here.id, files: [mine] });
    expect(await readdir(of.modelsFolder)).toEqual([]);
    await expect(of.importCopies([mine])).rejects.toMatchObject({ code: 'BadReference' });
    await expect(of.importCopies([])).rejects.toMatchObject({ code: 'BadReference' });
    expect(await readFile(mine)).not.toHaveLength(0);
  });

  it('of the copies of a drop waits for the rest of their set', async () => {
    const of = await library();
    const files = await make(folder.at('set.gguf'), 20, 3);
    const copies = files.map((file) => join(of.modelsFolder, basename(file)));
    const [first = '', second = '', third = ''] = copies;
    for (const [at, copy] of copies.slice(0, 2).entries()) await copyFile(files[at] ?? '', copy);
    await expect(of.importCopies([first, second])).rejects.toMatchObject({ code: 'MissingShard' });
    await copyFile(files[2] ?? '', third);
    expect(await of.importCopies([third])).toMatchObject({ origin: 'dropped', files: copies });
  });

  it('of a model holds for its copies in watched folders too, and another name of one file is no fault', async () => {
    const home = folder.at('copies home');
    const of = await library(home);
    const [first, link, copy] = ['first', 'link', 'second'].map((name) => join(of.modelsFolder, `${name}.gguf`));
    if (first === undefined || link === undefined || copy === undefined) throw new Error('three paths');
    await make(first, 23);
    await settled(first);
    await look(of);
    await symlink(first, link);
    await look(of);
    expect(of.state()).toMatchObject({ models: [{ files: [first] }], skipped: [] });
    await copyFile(first, copy);
    await settled(copy);
    await eventually(async () => {
      await look(of);
      expect(of.state().skipped).toMatchObject([{ path: copy, problem: expect.stringMatching(/is a copy of/) }]);
    });
    await of.remove(of.called('first.gguf').id);
    await look(of);
    expect(of.state()).toMatchObject({ models: [], skipped: [] });
    await of.close();
    const again = await library(home);
    await look(again);
    expect(again.state()).toMatchObject({ models: [], skipped: [] });
  });

  it('of a file in a watched folder holds, also after a restart, until it is imported', async () => {
    const home = folder.at('ignoring home');
    const of = await library(home);
    const path = join(of.modelsFolder, 'unwanted.gguf');
    await make(path, 17);
    await settled(path);
    await look(of);
    await of.remove(of.called('unwanted.gguf').id);
    await of.close();
    const again = await library(home);
    await look(again);
    expect(again.state().models).toEqual([]);
    await again.import(path);
    await look(again);
    expect(again.state().models).toMatchObject([{ origin: 'imported' }]);
  });
});

it('a damaged list is put aside and said plainly, and the member goes on', async () => {
  const home = folder.at('damaged home');
  await mkdir(join(home, 'library'), { recursive: true });
  await writeFile(join(home, 'library', 'library.json'), '{"version": 1, "models": [{}]}');
  const of = await library(home);
  expect(problems.splice(0)).toMatchObject([
    { code: 'DamagedLibrary', message: expect.stringContaining('damaged.json') },
  ]);
  expect(of.state().models).toEqual([]);
  expect(await readdir(join(home, 'library'))).toEqual(['library.damaged.json']);
});
