import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fileSecretStore } from '../library/secretStore.ts';
import { systemSecretStore } from './systemSecretStore.ts';
import { standIn } from './testing/electronStandIn.ts';

let home: string;
beforeEach(async () => {
  standIn.reset();
  home = await mkdtemp(join(tmpdir(), 'roomful-secrets-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

it('keeps secrets sealed where the system can, and takes over what was plain', async () => {
  await fileSecretStore(home).write('hub-token', 'hf_plain');
  const store = systemSecretStore(home);
  expect(store.place).toBe("the system's secret store");
  expect(await store.read('hub-token')).toBe('hf_plain');
  await store.write('hub-token', 'hf_secret');
  expect(await store.read('hub-token')).toBe('hf_secret');
  expect(await readdir(join(home, 'secrets'))).toEqual(['hub-token.sealed']);
  expect(await readFile(join(home, 'secrets', 'hub-token.sealed'), 'utf8')).not.toContain('hf_');
  await store.write('hub-token', null);
  expect(await store.read('hub-token')).toBeNull();
});

it.each([
  ['no store at all', { isAvailable: false, backend: 'gnome_libsecret' } as const],
  ['one that hides nothing', { isAvailable: true, backend: 'basic_text' } as const],
])('says plainly that a file keeps them: %s', async (_name, storage) => {
  Object.assign(standIn.storage, storage);
  const store = systemSecretStore(home);
  if (process.platform !== 'linux' && storage.isAvailable) return;
  expect(store.place).toMatch(/^a plain file in .* that only you can read$/);
  await store.write('hub-token', 'hf_secret');
  expect(await readdir(join(home, 'secrets'))).toEqual(['hub-token']);
});
