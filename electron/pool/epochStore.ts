import { join } from 'node:path';
import { PoolError } from './poolError.ts';
import { readPrivateFile, writePrivateFile } from './privateFile.ts';

/**
 * The counter of a new epoch: above every one that this member has begun, which its data folder keeps, and above `seen`.
 * Throws PoolError('DamagedFile').
 */
export async function nextEpochCounter(home: string, seen: number): Promise<number> {
  const path = join(home, 'pool', 'epoch');
  const text = (await readPrivateFile(path)) ?? '0';
  const counter = Math.max(Number(text), seen) + 1;
  if (!/^\d+$/.test(text.trim()) || !Number.isSafeInteger(counter)) {
    throw new PoolError('DamagedFile', `${path} holds no epoch. Leave the pool and join again.`);
  }
  await writePrivateFile(path, String(counter));
  return counter;
}
