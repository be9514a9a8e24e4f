import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ApiKeys } from './apiKeys.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-keys-'));
  path = join(folder, 'api-keys.json');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const problems: unknown[] = [];
const open = (): Promise<ApiKeys> => ApiKeys.open(path, { onProblem: (cause) => problems.push(cause) });

it('keeps a hash of each key, for its owner alone, and knows the key by it', async () => {
  const keys = await open();
  const { id, key } = await keys.add('notes');
  expect([keys.find(key), keys.find(`${key}x`), keys.find('')]).toEqual([id, null, null]);
  expect(await readFile(path, 'utf8')).not.toContain(key.slice('sk-roomful-'.length));
  if (process.platform !== 'win32') expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await open()).find(key)).toBe(id);
  expect(JSON.stringify(keys.list())).not.toMatch(/hash/);
});

it('forgets a revoked key at once and for good, and refuses one name twice', async () => {
  const keys = await open();
  const { id, key } = await keys.add('notes');
  await expect(keys.add('notes')).rejects.toMatchObject({ status: 409, code: 'name_taken' });
  await keys.revoke('notes');
  expect([keys.find(key), (await open()).find(key)]).toEqual([null, null]);
  await expect(keys.revoke(id)).rejects.toMatchObject({ status: 404 });
  keys.count(id, { requests: 1 });
  expect(keys.list()).toEqual([]);
});

it('writes down by itself what was used, and all of it when it is closed', async () => {
  const keys = await open();
  const { id } = await keys.add('notes');
  const kept = async (): Promise<unknown> => (await open()).list()[0];
  keys.count(id, { requests: 1 });
  keys.count(id, { promptTokens: 7, completionTokens: 5 });
  await vi.waitUntil(async () => JSON.stringify(await kept()).includes('"completionTokens":5'), { timeout: 30_000 });
  expect(await kept()).toMatchObject({ requests: 1, promptTokens: 7, completionTokens: 5 });
  keys.count(id, { requests: 1 });
  await keys.close();
  expect(await kept()).toMatchObject({ requests: 2, promptTokens: 7 });
  expect(problems).toEqual([]);
}, 40_000);

it('says so where its file is damaged, and leaves it as it is', async () => {
  await writeFile(path, '{"keys":[{"id":');
  await expect(open()).rejects.toThrow(/api-keys\.json is damaged\. Restore it/);
  expect(await readFile(path, 'utf8')).toBe('{"keys":[{"id":');
});
