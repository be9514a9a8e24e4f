import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { localToken } from './localToken.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-token-'));
  path = join(folder, 'home', 'local-token');
});
afterEach(() => rm(folder, { recursive: true }));

it('makes a token once, which only its owner may read', async () => {
  const token = await localToken(path);
  expect(token).toMatch(/^[0-9a-f]{64}$/);
  expect(await localToken(path)).toBe(token);
  expect(await readFile(path, 'utf8')).toBe(token);
  if (process.platform !== 'win32') expect((await stat(path)).mode & 0o777).toBe(0o600);
});

it('gives all who make it at once the same', async () => {
  const tokens = await Promise.all(Array.from({ length: 20 }, () => localToken(path)));
  expect(new Set(tokens).size).toBe(1);
});

it('replaces what is no token', async () => {
  await localToken(path);
  for (const damage of ['', 'secret\n']) {
    await writeFile(path, damage);
    expect(await localToken(path)).toMatch(/^[0-9a-f]{64}$/);
  }
});

it.skipIf(process.platform === 'win32')('replaces a token that others could read', async () => {
  const token = await localToken(path);
  await chmod(path, 0o644);
  expect(await localToken(path)).not.toBe(token);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});
