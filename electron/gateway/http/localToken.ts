import { randomBytes } from 'node:crypto';
import { chmod, link, readFile, rename, rm, writeFile } from 'node:fs/promises';

const tokenPattern = /^[0-9a-f]{64}$/;

/**
 * The token that `/api/*` asks for, from a file that only its owner may read (0600). Made when it is missing or not a
 * token; when two processes make it at once, both get the same.
 */
export async function localToken(path: string): Promise<string> {
  const known = await readToken(path);
  if (known !== null) {
    await chmod(path, 0o600);
    return known;
  }
  const token = randomBytes(32).toString('hex');
  const temporary = `${path}.${token.slice(0, 8)}`;
  try {
    await writeFile(temporary, token, { flag: 'wx', mode: 0o600 });
    try {
      // A link appears with its whole content, or not at all.
      await link(temporary, path);
      return token;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    }
    const made = await readToken(path);
    if (made !== null) return made;
    await rename(temporary, path);
    return token;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function readToken(path: string): Promise<string | null> {
  try {
    const text = (await readFile(path, 'utf8')).trim();
    return tokenPattern.test(text) ? text : null;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
