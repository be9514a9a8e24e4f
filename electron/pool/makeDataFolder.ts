import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { PoolError } from './poolError.ts';

/**
 * Makes a data folder, for its owner alone, and what is missing above it. Throws PoolError('NoDataFolder'). Step by step,
 * because Node's recursive mkdir never ends where a file system such as /proc refuses new folders.
 */
export function makeDataFolder(path: string): void {
  const missing: string[] = [];
  for (let folder = path; !existsSync(folder) && dirname(folder) !== folder; folder = dirname(folder)) {
    missing.push(folder);
  }
  try {
    for (const folder of missing.reverse()) mkdirSync(folder, { mode: 0o700 });
  } catch (cause) {
    if (existsSync(path)) return;
    const why = cause instanceof Error && 'code' in cause ? `${cause.code}` : String(cause);
    const remedy = 'Set ROOMFUL_HOME to a folder that you can write to.';
    throw new PoolError('NoDataFolder', `The data folder ${path} cannot be made (${why}). ${remedy}`, { cause });
  }
}
