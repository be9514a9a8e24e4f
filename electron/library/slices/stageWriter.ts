import { constants, copyFile, type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SliceError } from './sliceError.ts';
import { missingSpans, type Span } from './spans.ts';
import type { StageLayout, StageUnit } from './stageLayout.ts';
import type { TransferJournal } from './transferJournal.ts';

/** The unfinished files of a stage. Each piece is noted in the journal as soon as it was written. */
export class StageWriter {
  readonly layout: StageLayout;
  readonly #folder: string;
  readonly #journal: TransferJournal;
  readonly #files: FileHandle[];
  readonly #writing = new Set<Promise<void>>();
  /** Bytes that are held against what lies there before they are written. */
  #compareBytes = 0;

  private constructor(layout: StageLayout, folder: string, journal: TransferJournal, files: FileHandle[]) {
    this.layout = layout;
    this.#folder = folder;
    this.#journal = journal;
    this.#files = files;
  }

  /** `clones`: for files of the stage (by name) whole files on this disk that hold the same. */
  static async open(
    layout: StageLayout,
    folder: string,
    journal: TransferJournal,
    clones: ReadonlyMap<string, string>,
  ): Promise<StageWriter> {
    const files: FileHandle[] = [];
    const writer = new StageWriter(layout, folder, journal, files);
    try {
      if (journal.state.written.size > 0) writer.#compareBytes = COMPARE_BYTES;
      for (const [index, { name, plan }] of layout.files.entries()) {
        const path = writer.partialPath(index);
        // Named already, but for the record: whoever made it was ended in between.
        if (!(await exists(path))) await rename(join(folder, name), path).catch(() => {});
        if (!(await hasLength(path, plan.totalBytes))) {
          await writer.#begin(index);
          const clone = clones.get(name);
          if (clone !== undefined) await writer.#clone(index, clone);
        }
        const file = await open(path, (await exists(path)) ? 'r+' : 'w+', 0o600);
        files.push(file);
        // Where it is new the whole length is set at once: a hole, which costs nothing where the disk knows holes.
        await file.truncate(plan.totalBytes);
      }
      return writer;
    } catch (cause) {
      await writer.close();
      throw cause;
    }
  }

  partialPath(file: number): string {
    return join(this.#folder, `${this.layout.files[file]?.name ?? ''}.partial`);
  }

  /** Bytes of tensors that lie there. */
  get writtenBytes(): number {
    return this.#journal.writtenBytes;
  }

  missing(unit: StageUnit): Span[] {
    return missingSpans(this.#journal.state.written.get(unit.index) ?? [], unit.bytes);
  }

  verifiedAs(unit: StageUnit): string | undefined {
    return this.#journal.state.verified.get(unit.index);
  }

  /** Writes bytes of a tensor from `offset` of it on. They may be changed once this has resolved. Rejects with a SliceError. */
  write(unit: StageUnit, offset: number, bytes: Uint8Array): Promise<void> {
    const writing = this.#write(unit, offset, bytes);
    this.#writing.add(writing);
    const forget = (): void => void this.#writing.delete(writing);
    writing.then(forget, forget);
    return writing;
  }

  verified(unit: StageUnit, sha256: string): void {
    this.#journal.verified(unit.index, sha256);
  }

  damaged(unit: StageUnit): void {
    this.#journal.damaged(unit.index);
  }

  /** Writes all that is no tensor, where it does not lie there yet; `read` gives bytes of the model's headers. */
  async writeFixed(read: (file: number, offset: number, target: Uint8Array) => Promise<void>): Promise<void> {
    const isThere = this.#journal.state.hasFixed;
    for (const [index, { fixed }] of this.layout.files.entries()) {
      for (const { offset, data } of fixed) {
        const bytes = data.from === 'bytes' ? data.bytes : Buffer.allocUnsafe(data.byteLength);
        if (data.from === 'source') await read(data.file, data.offset, bytes);
        if (isThere && (await this.#liesAt(index, offset, bytes))) continue;
        await writeAll(this.#files[index], bytes, offset).catch((cause: unknown) => {
          throw writeError(cause);
        });
      }
    }
    this.#journal.fixed();
  }

  /** Flushes the files to the disk and gives them their names; the caller then notes that they are whole. */
  async finish(): Promise<{ name: string; bytes: number; changedAt: number }[]> {
    await Promise.all(this.#writing);
    const finished: { name: string; bytes: number; changedAt: number }[] = [];
    for (const [index, { name, plan }] of this.layout.files.entries()) {
      const file = this.#files[index];
      await file?.sync();
      const changedAt = (await file?.stat())?.mtimeMs ?? 0;
      finished.push({ name, bytes: plan.totalBytes, changedAt });
    }
    await this.close();
    for (const [index, { name }] of this.layout.files.entries()) {
      await rename(this.partialPath(index), join(this.#folder, name));
    }
    return finished;
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#writing);
    for (const file of this.#files.splice(0)) await file.close();
  }

  /** Nothing of a file lies there, whatever the journal says. */
  async #begin(index: number): Promise<void> {
    await rm(this.partialPath(index), { force: true });
    this.#journal.state.hasFixed = false;
    for (const unit of this.layout.units) {
      const { written, verified } = this.#journal.state;
      if (unit.file === index && (written.has(unit.index) || verified.has(unit.index))) {
        this.#journal.damaged(unit.index);
      }
    }
  }

  /** Copies a whole file, as a reflink where the file system can; tensors count as written, and are still checked. */
  async #clone(index: number, from: string): Promise<void> {
    await copyFile(from, this.partialPath(index), constants.COPYFILE_FICLONE);
    for (const unit of this.layout.units) {
      if (unit.file === index) this.#journal.wrote(unit.index, { from: 0, to: unit.bytes });
    }
  }

  async #liesAt(file: number, offset: number, bytes: Uint8Array): Promise<boolean> {
    const found = Buffer.alloc(bytes.byteLength);
    await this.#files[file]?.read(found, 0, found.byteLength, offset);
    return found.equals(bytes);
  }

  async #write(unit: StageUnit, offset: number, bytes: Uint8Array): Promise<void> {
    try {
      // What a killed process wrote and could not note lies there already.
      const liesThere = this.#compareBytes > 0 && (await this.#liesAt(unit.file, unit.at + offset, bytes));
      this.#compareBytes -= bytes.byteLength;
      if (!liesThere) await writeAll(this.#files[unit.file], bytes, unit.at + offset);
      this.#journal.wrote(unit.index, { from: offset, to: offset + bytes.byteLength });
    } catch (cause) {
      throw writeError(cause);
    }
  }
}

/** After a break: more than can have been under way when it came. */
const COMPARE_BYTES = 24 << 20;

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}

async function hasLength(path: string, bytes: number): Promise<boolean> {
  return (await stat(path).catch(() => null))?.size === bytes;
}

async function writeAll(file: FileHandle | undefined, bytes: Uint8Array, at: number): Promise<void> {
  if (file === undefined) throw new SliceError('WriteFailed', "The stage's files are closed already.");
  for (let done = 0; done < bytes.byteLength; ) {
    done += (await file.write(bytes, done, bytes.byteLength - done, at + done)).bytesWritten;
  }
}

function writeError(cause: unknown): SliceError {
  if (cause instanceof SliceError) return cause;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new SliceError('DiskFull', 'The disk is full: free some space on the disk of the data folder.', { cause });
  }
  const why = cause instanceof Error ? cause.message : String(cause);
  return new SliceError('WriteFailed', `The stage's file could not be written (${why}).`, { cause });
}
