import { realpath, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createPrivateFile, readPrivateFile, writePrivateFile } from '../privateFile.ts';

/**
 * Whether the key of a data folder lies where it was made, as far as can be told: the same host, folder and file. A copy of
 * the folder does not, and nor does one that was moved; this decides only between two that are there at once.
 */
export async function isAtBirthplace(home: string): Promise<boolean> {
  const here = await placeOf(home);
  if (await createPrivateFile(birthplacePath(home), here)) return true;
  return (await readPrivateFile(birthplacePath(home))) === here;
}

/** The key of this data folder was made here and now. */
export async function markBirthplace(home: string): Promise<void> {
  await writePrivateFile(birthplacePath(home), await placeOf(home));
}

function birthplacePath(home: string): string {
  return join(home, 'identity', 'birthplace');
}

async function placeOf(home: string): Promise<string> {
  const { ino } = await stat(join(home, 'identity', 'key.pem'));
  return JSON.stringify([hostname(), await realpath(home), ino]);
}
