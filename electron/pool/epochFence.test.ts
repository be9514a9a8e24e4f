import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EpochFence } from './epochFence.ts';

let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'roomful-fence-'));
});

afterEach(async () => {
  await rm(home, { recursive: true, force: true });
});

test('orders of an older epoch stay out, also after a restart; those of the same one get in', async () => {
  const fence = await EpochFence.open(home, 'pool');
  const newest = { counter: 3, coordinator: 'b' };
  await Promise.all([fence.admit({ counter: 2, coordinator: 'z' }), fence.admit(newest)]);
  for (const again of [fence, await EpochFence.open(home, 'pool')]) {
    await again.admit(newest);
    await again.raise({ counter: 1, coordinator: 'a' });
    for (const old of [
      { counter: 2, coordinator: 'z' },
      { counter: 3, coordinator: 'a' },
    ]) {
      await expect(again.admit(old)).rejects.toMatchObject({ reason: 'StaleEpoch' });
    }
  }
  await fence.raise({ counter: 4, coordinator: 'a' });
  await expect(fence.admit(newest)).rejects.toMatchObject({ reason: 'StaleEpoch' });
  expect((await stat(join(home, 'pool', 'fence.json'))).mode & 0o777).toBe(0o600);
});

test('an order is not let in before its epoch is on disk, and one that failed does not spoil the next', async () => {
  const fence = await EpochFence.open(home, 'pool');
  await writeFile(join(home, 'pool'), 'in the way of the folder');
  const epoch = { counter: 1, coordinator: 'a' };
  await expect(fence.admit(epoch)).rejects.toThrow();
  await rm(join(home, 'pool'));
  await fence.admit(epoch);
  const again = await EpochFence.open(home, 'pool');
  await expect(again.admit({ counter: 0, coordinator: 'a' })).rejects.toMatchObject({ reason: 'StaleEpoch' });
});

test('a damaged file is named', async () => {
  const fence = await EpochFence.open(home, 'pool');
  await fence.admit({ counter: 1, coordinator: 'a' });
  await writeFile(join(home, 'pool', 'fence.json'), '{"counter":');
  await expect(EpochFence.open(home, 'pool')).rejects.toMatchObject({
    kind: 'DamagedFile',
    message: expect.stringContaining('fence.json'),
  });
});

test('each pool has epochs of its own', async () => {
  const fence = await EpochFence.open(home, 'pool');
  await fence.admit({ counter: 9, coordinator: 'a' });
  const other = await EpochFence.open(home, 'another pool');
  await other.admit({ counter: 1, coordinator: 'a' });
});
