import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { generateModel } from '../../../e2e/models/generateModel.ts';
import { temporaryFolder } from '../../gguf/testing/temporaryFolder.ts';
import type { LibraryDownload } from '../libraryState.ts';
import { ModelLibrary } from '../modelLibrary.ts';
import { FakeHub } from '../testing/fakeHub.ts';
import { Downloads } from './downloads.ts';
import type { Patience } from './fetchModel.ts';
import { partBytes as partLength } from './seedParts.ts';

const folder = temporaryFolder();
/** Some 21 MB: several pieces of the 5 MB in which the downloader works. */
const shape = { layers: 2, width: 256, heads: 2, kvHeads: 1, feedForward: 64, vocabulary: 19_000, tied: true } as const;
let bytes: Buffer;
let shards: { name: string; bytes: Buffer }[];

beforeAll(async () => {
  await folder.make();
  const [path = ''] = await generateModel(folder.at('big.gguf'), { architecture: 'llama', ...shape, seed: 1 });
  bytes = await readFile(path);
  const paths = await generateModel(folder.at('set.gguf'), { architecture: 'llama', ...shape, seed: 2, shards: 3 });
  shards = await Promise.all(paths.map(async (shard) => ({ name: basename(shard), bytes: await readFile(shard) })));
});
afterAll(folder.remove);

let hub: FakeHub;
let home: string;
let library: ModelLibrary;
let downloads: Downloads;
let token: string | null;
let freeBytes: number | null;
let patience: Patience;
let homes = 0;
/** Called after every change. */
let onChange = (): void => {};

async function start(): Promise<void> {
  library = await ModelLibrary.open({ home });
  downloads = await Downloads.open({
    home,
    modelsFolder: library.modelsFolder,
    hub: hub.url,
    token: async () => token,
    take: (path, options) => library.import(path, options),
    here: library.here,
    onChange: () => onChange(),
    patience,
    ...(freeBytes !== null && { freeBytes: async () => freeBytes ?? 0 }),
  });
}
async function end(): Promise<void> {
  await downloads.close();
  await library.close();
}

beforeEach(async () => {
  token = null;
  freeBytes = null;
  patience = { stallMs: 30_000, pauseMs: 10 };
  onChange = () => {};
  home = folder.at(`home ${homes++}`);
  await mkdir(home);
  hub = await FakeHub.start();
  hub.manifests.set('team/model-GGUF:Q4_K_M', 'model-Q4_K_M.gguf');
  hub.add('team/model-GGUF/model-Q4_K_M.gguf', { bytes });
  await start();
});
afterEach(async () => {
  await end();
  await hub.close();
});

const REFERENCE = 'hf:team/model-GGUF:Q4_K_M';

/** Begins a download and waits until it has ended. */
async function fetched(
  reference = REFERENCE,
  until: (view: LibraryDownload) => boolean = isOver,
): Promise<LibraryDownload> {
  const { id } = downloads.begin(reference);
  return new Promise((resolve) => {
    onChange = () => {
      const view = downloads.list().find((each) => each.id === id);
      if (view !== undefined && until(view)) resolve(view);
    };
    onChange();
  });
}
const isOver = ({ state }: LibraryDownload): boolean => ['done', 'stopped', 'failed'].includes(state);
async function partBytes(): Promise<number> {
  const incoming = join(home, 'library', 'incoming');
  const names = await readdir(incoming, { recursive: true });
  const part = names.find((name) => name.endsWith('.ipull'));
  return part === undefined ? 0 : (await stat(join(incoming, part))).size;
}
const transfers = () => hub.requests.filter(({ host, range }) => host === 'cdn' && range !== null && range !== ASKING);
/** Only says how long a file is. */
const ASKING = 'bytes=0-0';

describe('a download', () => {
  it('comes in parallel parts, is checked and is in the library with its hashes', async () => {
    const seen: LibraryDownload[] = [];
    const view = await fetched(REFERENCE, (each) => {
      seen.push(each);
      return isOver(each);
    });
    expect(view).toMatchObject({ state: 'done', problem: null, bytes: bytes.byteLength, totalBytes: bytes.byteLength });
    const path = join(library.modelsFolder, 'team--model-GGUF', 'model-Q4_K_M.gguf');
    const [model] = library.state().models;
    expect(model).toMatchObject({ id: view.model, files: [path], origin: 'downloaded', from: REFERENCE, hashed: true });
    expect((await readFile(path)).equals(bytes)).toBe(true);
    expect(new Set(transfers().map(({ range }) => range)).size).toBeGreaterThan(1);
    expect(seen.map(({ state }) => state)).toEqual(
      expect.arrayContaining(['resolving', 'running', 'checking', 'done']),
    );
    expect(seen.some(({ state, bytesPerSecond }) => state === 'running' && bytesPerSecond > 0)).toBe(true);
    expect(await readdir(join(home, 'library', 'incoming'))).toEqual([]);
    expect(await library.remove(view.model ?? '')).toEqual([path]);
  });

  it('goes on after every break', async () => {
    hub.breaks = [100_000, 3_000_000, 0, 700_000, 64_000];
    expect(await fetched()).toMatchObject({ state: 'done' });
    expect(hub.breaks).toEqual([]);
    const [path = ''] = library.state().models[0]?.files ?? [];
    expect((await readFile(path)).equals(bytes)).toBe(true);
  });

  it('stops when told, and goes on from there in the next run', async () => {
    let release = (): void => {};
    const view = await fetched(REFERENCE, ({ bytes: arrived }) => {
      if (arrived > 17e6) hub.hold ??= new Promise((resolve) => (release = () => resolve()));
      return arrived > 17e6;
    });
    // The downloader writes a while after it has read; it notes what it has behind the file's own bytes.
    await expect.poll(() => partBytes(), { timeout: 30_000 }).toBeGreaterThan(bytes.byteLength);
    await downloads.stop(view.id, { discard: false });
    release();
    expect(downloads.list()).toMatchObject([{ state: 'stopped', reference: REFERENCE }]);
    expect(library.state().models).toEqual([]);
    await end();
    await start();
    hub.hold = null;
    hub.sentBytes = 0;
    // It was stopped by somebody, so nobody but them begins it again.
    expect(downloads.list()).toMatchObject([{ state: 'stopped', reference: REFERENCE, totalBytes: bytes.byteLength }]);
    expect(await fetched()).toMatchObject({ state: 'done' });
    expect(hub.sentBytes).toBeLessThan(bytes.byteLength - 5e6);
    const [path = ''] = library.state().models[0]?.files ?? [];
    expect((await readFile(path)).equals(bytes)).toBe(true);
  });

  it('goes on by itself after a restart of the member', async () => {
    let release = (): void => {};
    await fetched(REFERENCE, ({ bytes: arrived }) => {
      if (arrived > 17e6) hub.hold ??= new Promise((resolve) => (release = () => resolve()));
      return arrived > 17e6;
    });
    await expect.poll(() => partBytes(), { timeout: 30_000 }).toBeGreaterThan(bytes.byteLength);
    await end();
    release();
    hub.hold = null;
    hub.sentBytes = 0;
    onChange = () => {};
    // As after the start of a machine whose network is not there yet.
    hub.away = 3;
    await start();
    expect(downloads.list()).toMatchObject([{ state: 'resolving', reference: REFERENCE }]);
    await expect.poll(() => downloads.list().every(isOver), { timeout: 30_000 }).toBe(true);
    expect(downloads.list()).toMatchObject([{ state: 'done', reference: REFERENCE }]);
    expect(hub.away).toBe(0);
    expect(hub.sentBytes).toBeLessThan(bytes.byteLength - 5e6);
    const [path = ''] = library.state().models[0]?.files ?? [];
    expect((await readFile(path)).equals(bytes)).toBe(true);
  });

  it('begins anew where the file on the hub is another one by now', async () => {
    const view = await fetched(REFERENCE, ({ bytes: arrived }) => arrived > 6e6);
    await downloads.stop(view.id, { discard: false });
    const changed = Buffer.from(bytes);
    changed.writeUInt32LE(0x3f800000, changed.byteLength - 64);
    hub.add('team/model-GGUF/model-Q4_K_M.gguf', { bytes: changed });
    expect(await fetched()).toMatchObject({ state: 'done' });
    const [path = ''] = library.state().models[0]?.files ?? [];
    expect((await readFile(path)).equals(changed)).toBe(true);
  });

  it('leaves nothing when it is discarded', async () => {
    const view = await fetched(REFERENCE, ({ bytes: arrived }) => arrived > 1e6);
    await downloads.stop(view.id, { discard: true });
    expect(downloads.list()).toEqual([]);
    expect(await readdir(join(home, 'library', 'incoming'))).toEqual([]);
  });

  it('brings every file of a set, whichever is named', async () => {
    for (const shard of shards) hub.add(`team/split/Q8_0/${shard.name}`, { bytes: shard.bytes });
    expect(await fetched('hf:team/split/Q8_0/set-00002-of-00003.gguf')).toMatchObject({ state: 'done' });
    const [model] = library.state().models;
    expect(model?.files.map((path) => basename(path))).toEqual(shards.map(({ name }) => name));
  });

  it('comes from a plain server too, without ranges and without hashes', async () => {
    hub.add('plain/some model ✗.gguf', { bytes, withoutRanges: true });
    const url = `${hub.cdnUrl}plain/${encodeURIComponent('some model ✗.gguf')}`;
    expect(await fetched(url)).toMatchObject({ state: 'done' });
    const [path = ''] = library.state().models[0]?.files ?? [];
    expect((await readFile(path)).equals(bytes)).toBe(true);
  });

  it('of a model that is here already is not fetched, whoever brought it', async () => {
    expect(await fetched()).toMatchObject({ state: 'done' });
    const model = library.state().models[0]?.id;
    hub.requests.length = 0;
    expect(await fetched()).toMatchObject({ state: 'done', model });
    expect(transfers()).toEqual([]);
    expect(await readdir(join(home, 'library', 'incoming'))).toEqual([]);
    await library.remove(model ?? '');

    const { id } = await library.import(folder.at('big.gguf'));
    await library.hashes(id);
    expect(await fetched()).toMatchObject({ state: 'done', model: id });
    expect(transfers()).toEqual([]);
    expect(library.state().models.map(({ files }) => files)).toEqual([[folder.at('big.gguf')]]);

    // Where no hash is published, the same reference and length count; another file of that length does not.
    await library.remove(id);
    const url = `${hub.cdnUrl}team/model-GGUF/model-Q4_K_M.gguf`;
    expect(await fetched(url)).toMatchObject({ state: 'done', model: id });
    hub.requests.length = 0;
    expect(await fetched(url)).toMatchObject({ state: 'done', model: id });
    expect(transfers()).toEqual([]);
  });

  it('of a model whose hashes are not known yet keeps the first copy alone', async () => {
    await library.import(folder.at('big.gguf'));
    expect(await fetched()).toMatchObject({ state: 'done' });
    expect(library.state().models.map(({ files }) => files)).toEqual([[folder.at('big.gguf')]]);
    await expect(stat(folder.at('big.gguf'))).resolves.toBeDefined();
  });

  it('of a set brings only the files that are not here, and does not trust those that are', async () => {
    for (const shard of shards) hub.add(`team/split/${shard.name}`, { bytes: shard.bytes });
    const reference = `hf:team/split/${shards[0]?.name}`;
    const total = shards.reduce((sum, shard) => sum + shard.bytes.byteLength, 0);
    expect(await fetched(reference)).toMatchObject({ state: 'done' });
    const [model] = library.state().models;
    const [, second = '', third = ''] = model?.files ?? [];
    await rm(second);
    await library.look();
    hub.sentBytes = 0;
    expect(await fetched(reference)).toMatchObject({ state: 'done', bytes: total, model: model?.id });
    expect(hub.sentBytes).toBe(shards[1]?.bytes.byteLength);
    for (const [index, path] of (model?.files ?? []).entries()) {
      expect((await readFile(path)).equals(shards[index]?.bytes ?? Buffer.alloc(0))).toBe(true);
    }

    // One that is there but damaged is found by the hub's hash and fetched.
    const damaged = Buffer.from(shards[2]?.bytes ?? []);
    damaged[damaged.byteLength - 40] = (damaged[damaged.byteLength - 40] ?? 0) ^ 1;
    await library.remove(model?.id ?? '', { deleteFiles: false });
    await rm(second);
    await writeFile(third, damaged);
    expect(await fetched(reference)).toMatchObject({ state: 'done', model: model?.id });
    expect((await readFile(third)).equals(shards[2]?.bytes ?? Buffer.alloc(0))).toBe(true);
  });

  it('never tells of more than has arrived, and a stop loses little', async () => {
    const seen: LibraryDownload[] = [];
    let release = (): void => {};
    const view = await fetched(REFERENCE, (each) => {
      if (each.state === 'running') seen.push(each);
      if (each.bytes > 17e6) hub.hold ??= new Promise((resolve) => (release = () => resolve()));
      return each.bytes > 17e6;
    });
    const part = partLength(bytes.byteLength);
    for (const { bytes: told } of seen)
      expect(told).toBeLessThanOrEqual(Math.min(bytes.byteLength, hub.sentBytes + part));
    await downloads.stop(view.id, { discard: false });
    const arrived = downloads.list()[0]?.bytes ?? 0;
    release();
    hub.hold = null;
    const first = await new Promise<number>((resolve) => {
      onChange = () => {
        const [now] = downloads.list();
        if (now?.state === 'running' && now.bytes > 0) resolve(now.bytes);
      };
      downloads.begin(REFERENCE);
    });
    // What no part was noted of yet is fetched again; how much that is depends on the disk.
    expect(first).toBeGreaterThan(0.8 * arrived);
    await expect.poll(() => downloads.list()[0]?.state, { timeout: 30_000 }).toBe('done');
  });
});

describe('tokens', () => {
  beforeEach(() => {
    hub.add('team/model-GGUF/model-Q4_K_M.gguf', { bytes, token: 'hf_right', refusedTokens: ['hf_other'] });
  });

  it('open gated models, and go to the hub alone', async () => {
    token = 'hf_right';
    expect(await fetched()).toMatchObject({ state: 'done' });
    const carried = hub.requests.filter(({ authorization }) => authorization !== null);
    expect(carried.length).toBeGreaterThan(0);
    expect(new Set(carried.map(({ host }) => host))).toEqual(new Set(['hub']));
  });

  it.each([
    [null, /only with a token: accept its terms at .*team\/model-GGUF, then `roomful hub-token`/],
    ['hf_other', /does not give team\/model-GGUF for your token: accept its terms/],
  ])('that are missing or wrong (%s) are said plainly', async (given, says) => {
    token = given;
    const view = await fetched();
    expect(view).toMatchObject({ state: 'failed', problem: expect.stringMatching(says) });
    expect(view.problem).not.toContain('hf_');
  });
});

describe('refusals', () => {
  it.each([
    ['hf:team/model-GGUF:Q9_X', /The hub has no 'Q9_X' GGUF of team\/model-GGUF/],
    ['hf:team/model-GGUF/missing.gguf', /team\/model-GGUF: there is no such file \(404\)/],
    ['http://127.0.0.1:1/model.gguf', /127\.0\.0\.1:1 cannot be reached/],
  ])('%s', async (reference, says) => {
    const view = await fetched(reference);
    expect(view).toMatchObject({ state: 'failed', problem: expect.stringMatching(says) });
    expect(view.problem).toMatch(/^[^\n]+$/);
  });

  it.each([
    'model.gguf',
    'hf:',
    'hf:model',
    'hf:team/../etc',
    'hf:team/model/notes.txt',
    'ftp://host/model.gguf',
    'https://',
  ])('what names nothing: %s', (reference) => {
    expect(() => downloads.begin(reference)).toThrow(/names no model that can be downloaded. Give hf:/);
  });

  it('a model that has no room on the disk, before anything is fetched', async () => {
    await end();
    freeBytes = 5e6;
    await start();
    const problem = expect.stringMatching(/takes 2.* MB, .* are missing, but only 5.0 MB are free/);
    expect(await fetched()).toMatchObject({ state: 'failed', problem });
    expect(transfers()).toEqual([]);
  });

  it('a hash that is not the published one, after a second try, and nothing is left', async () => {
    hub.add('team/model-GGUF/model-Q4_K_M.gguf', { bytes, publishedSha256: '0'.repeat(64) });
    expect(await fetched()).toMatchObject({
      state: 'failed',
      problem: expect.stringMatching(/the hash of model-Q4_K_M\.gguf is not the one that the hub publishes/),
    });
    expect(hub.sentBytes).toBeGreaterThan(1.9 * bytes.byteLength);
    expect(library.state().models).toEqual([]);
    expect(await readdir(join(home, 'library', 'incoming'))).toEqual([]);
  });

  it('a file that is shorter than its server says', async () => {
    hub.add('team/model-GGUF/model-Q4_K_M.gguf', { bytes, claimedBytes: bytes.byteLength + 1000 });
    await end();
    patience = { stallMs: 1000, pauseMs: 10 };
    await start();
    const problem = expect.stringMatching(/Nothing has arrived for 1 s/);
    expect(await fetched()).toMatchObject({ state: 'failed', problem });
    expect(library.state().models).toEqual([]);
  });

  it('a web page that calls itself a model', async () => {
    hub.add('pages/login.gguf', { bytes: Buffer.from('<!DOCTYPE html><html>Sign in</html>') });
    expect(await fetched(`${hub.cdnUrl}pages/login.gguf`)).toMatchObject({
      state: 'failed',
      problem: expect.stringContaining('is a web page, not a model'),
    });
  });
});
