import { createHash } from 'node:crypto';
import { constants, copyFile, link, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { formatBytes } from '../../planner/formatBytes.ts';
import { readPrivateFile, writePrivateFile } from '../../pool/privateFile.ts';
import { LibraryError } from '../libraryError.ts';
import { doubtParts } from './doubtParts.ts';
import type { RemoteFile } from './hubClient.ts';
import { seedParts } from './seedParts.ts';

const noteSchema = z.strictObject({
  reference: z.string().min(1),
  /** Null before the hub has said. */
  files: z
    .array(z.strictObject({ name: z.string(), bytes: z.number().nullable(), tag: z.string().nullable() }))
    .nullable(),
  /** Whether it goes on only when somebody asks: it was stopped, or has failed. */
  rests: z.boolean().default(false),
});
const NOTE = 'download.json';
/** Stays free for everyone else. */
const SPARE_BYTES = 256e6;

/** A download that an earlier run has not finished. */
export interface LeftDownload {
  reference: string;
  totalBytes: number | null;
  bytes: number;
  /** Whether it goes on only when somebody asks. */
  rests: boolean;
}

/** Where the files of one download lie until they are whole: `library/incoming/KEY` of the data folder. */
export class IncomingFolder {
  readonly path: string;
  readonly reference: string;

  constructor(home: string, reference: string) {
    this.reference = reference;
    this.path = join(home, 'library', 'incoming', keyOf(reference));
  }

  /** The downloads that earlier runs have left unfinished. */
  static async leftIn(home: string): Promise<LeftDownload[]> {
    const root = join(home, 'library', 'incoming');
    const left: LeftDownload[] = [];
    for (const key of await readdir(root).catch(() => [])) {
      const note = await readNote(join(root, key));
      if (note === null || keyOf(note.reference) !== key) continue;
      const folder = new IncomingFolder(home, note.reference);
      const sizes = note.files?.map(({ bytes }) => bytes) ?? [null];
      const { reference, rests } = note;
      left.push({ reference, rests, totalBytes: sum(sizes), bytes: await folder.bytesOnDisk() });
    }
    return left;
  }

  /** Makes the folder; what an earlier run left stays where the files are the same as then. */
  async prepare(files: readonly RemoteFile[]): Promise<void> {
    const known = files.map(({ name, bytes, tag }) => ({ name, bytes, tag }));
    const before = await readNote(this.path);
    if (before?.files && JSON.stringify(before.files) !== JSON.stringify(known)) await this.discard();
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    await writePrivateFile(join(this.path, NOTE), JSON.stringify({ reference: this.reference, files: known }));
  }

  /**
   * Takes over the files that lie on this disk already, by name; they are checked like what arrives. A file of Roomful's own is
   * linked (`isOwn`), others are copied, since their owner may write to them.
   */
  async reuse(found: ReadonlyMap<string, { path: string; isOwn: boolean }>): Promise<void> {
    for (const [name, { path, isOwn }] of found) {
      const to = join(this.path, name);
      if ((await exists(to)) || (await exists(`${to}.ipull`))) continue;
      const copy = (): Promise<void> => copyFile(path, to, constants.COPYFILE_FICLONE);
      // What cannot be had from here is fetched.
      await (isOwn ? link(path, to).catch(copy) : copy()).catch(() => rm(to, { force: true }));
    }
  }

  /**
   * Makes the downloader work in small parts, see `seedParts`, and go on only from what was really written where no published
   * hash tells in the end, see `doubtParts`.
   */
  async seed(files: readonly RemoteFile[]): Promise<void> {
    for (const { name, bytes, sha256 } of files) {
      const path = join(this.path, name);
      if (bytes === null || (await exists(path))) continue;
      if (sha256 === null) await doubtParts(path, bytes);
      await seedParts(path, bytes);
    }
  }

  /** Notes, where anything is there, that it goes on only when somebody asks. */
  async rest(): Promise<void> {
    const note = await readNote(this.path);
    if (note !== null) await writePrivateFile(join(this.path, NOTE), JSON.stringify({ ...note, rests: true }));
  }

  /** Throws LibraryError('NoSpace') where the rest of the files has no room on a disk with so many bytes free. */
  async checkSpace(files: readonly RemoteFile[], freeBytes: number): Promise<void> {
    const total = sum(files.map(({ bytes }) => bytes));
    if (total === null) return;
    const missing = total - (await this.bytesOnDisk());
    if (missing + SPARE_BYTES <= freeBytes) return;
    throw new LibraryError(
      'NoSpace',
      `${this.reference} takes ${formatBytes(total)}, ${formatBytes(missing)} are missing, but only ${formatBytes(freeBytes)} are free at ${this.path}. Free some space and ask again.`,
    );
  }

  /** Bytes that have arrived, as far as the disk tells. */
  async bytesOnDisk(): Promise<number> {
    let bytes = 0;
    for (const name of await readdir(this.path).catch(() => [])) {
      if (name === NOTE) continue;
      const { size, blocks } = await stat(join(this.path, name));
      // Parts are written far apart; holes between them are no bytes. Windows has no blocks.
      bytes += blocks > 0 ? Math.min(size, blocks * 512) : process.platform === 'win32' ? size : 0;
    }
    return bytes;
  }

  async discard(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}

function keyOf(reference: string): string {
  return createHash('sha256').update(reference).digest('hex').slice(0, 16);
}

async function readNote(folder: string): Promise<z.infer<typeof noteSchema> | null> {
  try {
    return noteSchema.safeParse(JSON.parse((await readPrivateFile(join(folder, NOTE))) ?? '')).data ?? null;
  } catch {
    return null;
  }
}

/** Null where one of them is. */
export function sum(sizes: readonly (number | null)[]): number | null {
  let total = 0;
  for (const size of sizes) {
    if (size === null) return null;
    total += size;
  }
  return total;
}
