import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { createPrivateFile, readPrivateFile, writePrivateFile } from '../../pool/privateFile.ts';

/**
 * The token that `/api/*` asks for, kept in a file that only its owner may read (0600). A new one is made when the file is
 * missing, holds no token, or could be read by others. Processes that make it at once get the same.
 */
export async function localToken(path: string): Promise<string> {
  const known = await readToken(path);
  if (known !== null) return known;
  const token = randomBytes(32).toString('hex');
  if (await createPrivateFile(path, token)) return token;
  const made = await readToken(path);
  if (made !== null) return made;
  await writePrivateFile(path, token);
  return token;
}

async function readToken(path: string): Promise<string | null> {
  const text = (await readPrivateFile(path))?.trim() ?? '';
  if (!/^[0-9a-f]{64}$/.test(text)) return null;
  // Windows has no such bits; there the folder of the user keeps others out.
  const openToOthers = process.platform !== 'win32' && ((await stat(path)).mode & 0o077) !== 0;
  return openToOthers ? null : text;
}
