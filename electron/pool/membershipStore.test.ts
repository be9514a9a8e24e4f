import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MembershipStore } from './membershipStore.ts';

let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'roomful-membership-'));
});

afterEach(async () => {
  await rm(home, { recursive: true, force: true });
});

test('what was saved is there at the next start, whole, and private; another pool starts anew', async () => {
  const store = await MembershipStore.open(home, 'pool');
  const epoch = { counter: 4, coordinator: 'm' };
  await Promise.all([store.save({ incarnation: 3 }), store.save({ epoch }), store.save({ reached: { m: 'h:1' } })]);
  const stored = { pool: 'pool', incarnation: 3, epoch, port: 0, reached: { m: 'h:1' } };
  expect((await MembershipStore.open(home, 'pool')).stored).toEqual(stored);
  expect((await stat(join(home, 'pool', 'membership.json'))).mode & 0o777).toBe(0o600);
  expect((await MembershipStore.open(home, 'other')).stored).toMatchObject({
    incarnation: 0,
    epoch: null,
    reached: {},
  });
});

test('a write that failed is told, and does not spoil the next', async () => {
  const store = await MembershipStore.open(home, 'pool');
  await writeFile(join(home, 'pool'), 'in the way of the folder');
  await expect(store.save({ incarnation: 1 })).rejects.toThrow();
  await rm(join(home, 'pool'));
  await store.save({ port: 2 });
  expect((await MembershipStore.open(home, 'pool')).stored).toMatchObject({ incarnation: 1, port: 2 });
});
