import { readdir, readFile } from 'node:fs/promises';

/** The trimmed text of a file of /sys; null where there is none, or the driver behind it answers with an error. */
export async function systemText(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    return null;
  }
}

/** The number in a file of /sys. */
export async function systemNumber(path: string): Promise<number | null> {
  const text = await systemText(path);
  return text !== null && /^-?\d+$/.test(text) ? Number(text) : null;
}

/** The names in a folder of /sys, in order; none where there is no such folder. */
export async function systemNames(path: string): Promise<string[]> {
  try {
    return (await readdir(path)).sort();
  } catch {
    return [];
  }
}
