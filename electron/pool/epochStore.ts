import { join } from 'node:path';
import { PoolError } from './poolError.ts';
import { readPrivateFile, writePrivateFile } from './privateFile.ts';

/**
 * The counter of epochs that this member has begun, kept in its data folder so that a restart never repeats one.
 * Throws PoolError('DamagedFile').
 */
export async function nextEpochCounter(home: string): Promise<number> {
  const path = join(home, 'pool', 'epoch');
  const text = (await readPrivateFile(path)) ?? '0';
  const counter = Number(text) + 1;
  if (!/^\d+$/.test(text.trim()) || !Number.isSafeInteger(counter)) {
    throw new PoolError('DamagedFile', `${path} holds no epoch. Leave the pool and join again.`);
  }
  await writePrivateFile(path, String(counter));
  return counter;
}
