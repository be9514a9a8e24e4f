import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';

/** What a watched folder holds. */
export interface FolderScan {
  /** GGUF files, of a split set the first of those that are there. */
  files: string[];
  /** The folder and those below it that were looked into. */
  folders: string[];
}

/** Below the folder itself; the hub's own layout is user/model/file. */
const DEEPEST = 4;
/** A folder with more is somebody's disk. */
const MOST_ENTRIES = 20_000;

/**
 * Looks for GGUF files in a folder and below it. Links are followed, each folder once, so loops end. Rejects where the folder
 * itself cannot be read; what cannot be read below it is left out.
 */
export async function scanFolder(folder: string): Promise<FolderScan> {
  const seen = new Set<string>();
  const sets = new Set<string>();
  const scan: FolderScan = { files: [], folders: [] };
  let left = MOST_ENTRIES;
  const walk = async (path: string, depth: number): Promise<void> => {
    const real = await realpath(path);
    if (seen.has(real)) return;
    seen.add(real);
    const entries = await readdir(path, { withFileTypes: true });
    scan.folders.push(path);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      left -= 1;
      if (left < 0 || entry.name.startsWith('.')) continue;
      const below = join(path, entry.name);
      if (/\.gguf$/i.test(entry.name) && !entry.isDirectory()) {
        const set = below.replace(/-\d{5}-of-(\d{5}\.gguf)$/i, '-of-$1');
        if (set === below || !sets.has(set)) scan.files.push(below);
        sets.add(set);
      } else if (depth < DEEPEST && (entry.isDirectory() || entry.isSymbolicLink())) {
        await walk(below, depth + 1).catch(() => {});
      }
    }
  };
  await walk(folder, 0);
  return scan;
}
