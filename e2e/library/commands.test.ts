import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CatalogueModel, LibraryModel, LibraryState } from '../../electron/library/libraryState.ts';
import { FakeHub } from '../../electron/library/testing/fakeHub.ts';
import { type Member, startMember } from '../../electron/member.ts';
import { nodeLauncher } from '../../electron/stage/nodeLauncher.ts';
import { generateModel } from '../models/generateModel.ts';

const roomful = fileURLToPath(new URL('../../dist/electron/cli/main.js', import.meta.url));
const shape = { layers: 2, width: 256, heads: 2, kvHeads: 1, feedForward: 64, vocabulary: 19_000, tied: true } as const;

let folder: string;
let home: string;
let hub: FakeHub;
let member: Member;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful library ✗ '));
  home = join(folder, 'home');
  hub = await FakeHub.start();
  process.env.HF_ENDPOINT = hub.url;
  member = await startMember({ home, name: 'desk', threads: 1, memoryBytes: 8e9, launcher: nodeLauncher });
});
afterAll(async () => {
  delete process.env.HF_ENDPOINT;
  await member?.close();
  await hub?.close();
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

function run(
  args: string[],
  {
    input = '',
    interruptAt,
    signal = 'SIGINT',
    cwd = folder,
  }: { input?: string; interruptAt?: RegExp; signal?: NodeJS.Signals; cwd?: string } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [roomful, ...args, '--home', home], { cwd });
  const ended: Ended = { code: null, out: '', err: '' };
  let interrupted = false;
  child.stdin.end(input);
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    ended.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    ended.err += text;
    if (interruptAt?.test(ended.err) && !interrupted) interrupted = child.kill(signal);
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ ...ended, code })));
}

async function json<T>(args: string[]): Promise<T> {
  const { code, out, err } = await run([...args, '--json']);
  if (code !== 0) throw new Error(err);
  return JSON.parse(out) as T;
}

test('import, models, verify and rm, in words and as JSON', async () => {
  const files = await generateModel(join(folder, 'set 🦙.gguf'), {
    architecture: 'llama',
    ...shape,
    seed: 1,
    shards: 2,
  });
  const imported = await run(['import', files[1] ?? '']);
  expect(imported).toMatchObject({ code: 0, err: '' });
  expect(imported.out).toMatch(
    /^random-llama-1-f32 {2}random llama 1\n {2}llama, \d+M F32, 2 layers, \d+ tokens of context/,
  );
  const { models } = await json<LibraryState>(['models']);
  expect(models).toMatchObject([{ name: 'random-llama-1-f32', files, state: 'ready' }]);
  expect((await run(['models'])).out).toMatch(/^model +weights +layers.*\n-.*\nrandom-llama-1-f32/);

  // Every path is tried, and each that is no model has its line.
  const bad = [join(folder, 'junk.gguf'), join(folder, 'nowhere.gguf')] as const;
  await writeFile(bad[0], 'Call me Ishmael.');
  const mixed = await run(['import', bad[0], files[0] ?? '', bad[1], '--json']);
  expect(mixed.code).toBe(1);
  expect(JSON.parse(mixed.out)).toMatchObject({ models: [{ name: 'random-llama-1-f32' }] });
  expect(mixed.err).toMatch(/^roomful: .*junk\.gguf.*\nroomful: .*nowhere\.gguf.*\n$/);

  const first = await run(['verify', 'random-llama-1-f32']);
  expect(first).toMatchObject({ code: 0 });
  const handle = await open(files[1] ?? '', 'r+');
  await handle.write(Buffer.from([0x5a]), 0, 1, (await stat(files[1] ?? '')).size - 100);
  await handle.close();
  const damaged = await run(['verify', 'random-llama-1-f32']);
  expect(damaged.code).toBe(1);
  expect(damaged.err.trimEnd().split('\n').at(-1)).toMatch(
    /^roomful: .*is not what it was: .*; fetch it again, or import it again to take it as it is/,
  );

  const removed = await json<{ deleted: string[] }>(['rm', 'random-llama-1-f32']);
  expect(removed).toEqual({ deleted: [], freedBytes: 0 });
  const limits = { diskBytes: null, bytesPerSecond: 50e6, loadedShare: 0.2 };
  expect(await json(['limits', '--bandwidth', '50MB', '--beside', '20'])).toEqual(limits);
  expect((await run(['limits'])).out).toMatch(/a fifth of the disk.*\n.*50\.0 MB\/s.*\n.* 20 % of the time/);
  const none = await json(['limits', '--disk', '200GB', '--bandwidth', 'none']);
  expect(none).toMatchObject({ diskBytes: 200e9, bytesPerSecond: null });
  expect(await json(['limits', '--disk', 'auto'])).toMatchObject({ diskBytes: null, bytesPerSecond: null });
  expect(await json<LibraryState>(['models'])).toMatchObject({ models: [] });
  expect((await stat(files[0] ?? '')).isFile()).toBe(true);
});

test('pull shows how far it is, stops on Ctrl-C, goes on, and rm deletes what it fetched', async () => {
  const [path = ''] = await generateModel(join(folder, 'hub.gguf'), { architecture: 'llama', ...shape, seed: 2 });
  const bytes = await readFile(path);
  hub.manifests.set('team/model-GGUF:F32', 'model-F32.gguf');
  hub.add('team/model-GGUF/model-F32.gguf', { bytes, token: 'hf_secret' });

  const refused = await run(['pull', 'hf:team/model-GGUF:F32']);
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(refused.err).toMatch(/roomful: The hub gives team\/model-GGUF only with a token: .*\n$/);
  const kept = await run(['hub-token'], { input: 'hf_secret\n' });
  expect(kept.out).toBe(`The token is kept in a plain file in ${join(home, 'secrets')} that only you can read.\n`);
  expect((await stat(join(home, 'secrets', 'hub-token'))).mode & 0o077).toBe(0);

  let release = (): void => {};
  hub.hold = new Promise((resolve) => {
    release = resolve;
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const stopped = await run(['pull', 'hf:team/model-GGUF:F32'], { interruptAt: /asking where it is/, signal });
    expect(stopped).toMatchObject({ code: 1, out: '' });
    expect(stopped.err).toMatch(/roomful: The download was stopped. Pull it again to go on where it was.\n$/);
    expect((await json<LibraryState>(['models'])).downloads[0]).toMatchObject({ state: 'stopped' });
  }
  const detached = await run(['pull', 'hf:team/model-GGUF:F32', '--detach']);
  expect(detached).toMatchObject({ code: 0, err: '' });
  expect(detached.out).toMatch(/goes on in the member: .*`roomful pull --stop` stops it/);
  expect((await json<LibraryState>(['models'])).downloads[0]?.state).toMatch(/resolving|running/);
  expect(await run(['pull', 'hf:team/model-GGUF:F32', '--stop'])).toMatchObject({ code: 0 });
  expect((await json<LibraryState>(['models'])).downloads[0]).toMatchObject({ state: 'stopped' });
  expect(await run(['pull', 'hf:team/model-GGUF:F32', '--stop'])).toMatchObject({
    code: 1,
    err: 'roomful: hf:team/model-GGUF:F32 is not being downloaded.\n',
  });
  release();
  hub.hold = null;

  const { model } = await json<{ model: LibraryModel }>(['pull', 'hf:team/model-GGUF:F32']);
  expect(model).toMatchObject({ name: 'random-llama-2-f32', origin: 'downloaded', hashed: true });
  expect((await readFile(model.files[0] ?? '')).equals(bytes)).toBe(true);
  hub.sentBytes = 0;
  const again = await run(['pull', 'hf:team/model-GGUF:F32']);
  expect(again.out).toMatch(/^random-llama-2-f32 [\s\S]*It was here already; nothing new was kept.\n$/);
  // The hub is only asked how long the file is.
  expect(hub.sentBytes).toBeLessThan(10);
  const [own = ''] = model.files;
  const verified = await run(['verify', `./${basename(own)}`], { cwd: dirname(own) });
  expect(verified).toMatchObject({ code: 0, out: 'random-llama-2-f32 is what it was.\n' });
  expect((await run(['verify', 'random-llama-2'])).code).toBe(0);
  const { deleted } = JSON.parse((await run(['rm', basename(own), '--json'], { cwd: dirname(own) })).out);
  expect(deleted).toEqual(model.files);
  expect(await readdir(join(home, 'models', 'team--model-GGUF'))).toEqual([]);
});

test('a folder is watched, and what is no model is said in one line with its name', async () => {
  const models = join(folder, 'my models');
  await mkdir(models);
  expect((await run(['import', models])).out).toBe('The folder is watched; it holds no model yet.\n');
  expect((await json<LibraryState>(['models'])).folders.map(({ path }) => basename(path))).toEqual([
    'models',
    'my models',
  ]);
  const { code, err } = await run(['import', join(folder, 'nowhere.gguf')]);
  expect({ code, err }).toEqual({ code: 1, err: `roomful: ${join(folder, 'nowhere.gguf')} does not exist.\n` });
  expect((await run(['rm', 'nobody'])).err).toMatch(/^roomful: No model of the library is called nobody\. .*\n$/);
});

test('the catalogue says which of its models fit this pool', async () => {
  const { models } = await json<{ models: CatalogueModel[] }>(['models', '--catalogue']);
  expect(models.length).toBeGreaterThanOrEqual(10);
  const [smallest, largest] = [models[0], models.at(-1)];
  expect(smallest).toMatchObject({ fit: 'RunLocal', hops: 0, missingBytes: null });
  expect(largest).toMatchObject({ fit: 'DoesNotFit', hops: null });
  expect(largest?.missingBytes).toBeGreaterThan(20e9);
  expect((await run(['models', '--catalogue'])).out).toMatch(/does not fit: [\d.]+ GB missing/);
});
