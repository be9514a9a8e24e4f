import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

const packageSchema = z.object({ version: z.string() });

/** The version of this program, as its package.json has it, above this file in electron/ or in dist/electron/. */
export function roomfulVersion(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return packageSchema.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).version;
}
