import type { BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { z } from 'zod';

/** By what a file is known to be the same without reading it. */
export interface FileMark {
  path: string;
  bytes: number;
  /** Time of its last change, milliseconds since 1970. */
  changedAt: number;
  /**
   * Time of the last change of the file or of what the system notes about it, as milliseconds since 1970. It tells of a write
   * whose `changedAt` was put back; it also moves with a file's name.
   */
  notedAt: number;
  /** Device and inode. */
  inode: string;
}

export const fileMarkSchema = z.strictObject({
  path: z.string().min(1),
  bytes: z.int().nonnegative(),
  changedAt: z.number(),
  notedAt: z.number(),
  inode: z.string(),
});

/** The mark of a file now; null where there is none that can be looked at. */
export async function markFile(path: string): Promise<FileMark | null> {
  let found: BigIntStats;
  try {
    found = await stat(path, { bigint: true });
  } catch {
    return null;
  }
  if (!found.isFile()) return null;
  return {
    path,
    bytes: Number(found.size),
    changedAt: Number(found.mtimeNs / 1_000_000n),
    notedAt: Number(found.ctimeNs / 1_000_000n),
    inode: `${found.dev}:${found.ino}`,
  };
}

/** The marks of files, null where one of them is not there. */
export async function markFiles(paths: readonly string[]): Promise<FileMark[] | null> {
  const marks = await Promise.all(paths.map(markFile));
  const found = marks.filter((mark) => mark !== null);
  return found.length === paths.length ? found : null;
}

/** Whether nothing has been done to the files, as far as the system tells. */
export function sameMarks(before: readonly FileMark[], now: readonly FileMark[]): boolean {
  return sameBytes(before, now) && before.every(({ notedAt }, index) => notedAt === now[index]?.notedAt);
}

/** Whether the bytes seem to be those of before: the file may have moved within its disk. */
export function sameBytes(before: readonly FileMark[], now: readonly FileMark[]): boolean {
  return (
    before.length === now.length &&
    before.every(
      ({ bytes, changedAt, inode }, index) =>
        bytes === now[index]?.bytes && changedAt === now[index].changedAt && inode === now[index].inode,
    )
  );
}
