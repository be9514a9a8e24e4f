import { join } from 'node:path';
import { readPrivateFile, writePrivateFile } from '../privateFile.ts';
import { nameSchema } from './names.ts';

/** The name that the owner of a data folder has given to this member, null where none was given yet. */
export async function readMemberName(home: string): Promise<string | null> {
  const parsed = nameSchema.safeParse(await readPrivateFile(namePath(home)));
  return parsed.success ? parsed.data : null;
}

export async function writeMemberName(home: string, name: string): Promise<void> {
  await writePrivateFile(namePath(home), name);
}

function namePath(home: string): string {
  return join(home, 'identity', 'name');
}
