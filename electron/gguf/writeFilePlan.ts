import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import type { FilePlan, Piece } from './filePlan.ts';
import { GgufError, SourceChangedError, TruncatedError, WriteFailedError } from './ggufError.ts';
import type { SourceFile } from './openModel.ts';
import { type FileReader, openFileReader } from './rangeReader.ts';

export interface WriteOptions {
  signal?: AbortSignal;
  /** Called after every bufferful with the bytes of this file that are done. */
  onProgress?: (doneBytes: number, totalBytes: number) => void;
}

/** Bytes in memory at a time. */
const bufferBytes = 4 << 20;

/**
 * Writes the planned file from its source files: into a file beside `outPath`, flushed, then renamed, so `outPath` is
 * whole or not there. On failure and on abort nothing is left. Rejects with a `GgufError`, or with the signal's reason.
 */
export async function writeFilePlan(
  plan: FilePlan,
  sources: readonly SourceFile[],
  outPath: string,
  options: WriteOptions = {},
): Promise<void> {
  options.signal?.throwIfAborted();
  const partial = `${outPath}.${randomBytes(6).toString('hex')}.partial`;
  const readers = new Map<number, FileReader>();
  let output: FileHandle | undefined;
  try {
    output = await open(partial, 'wx');
    await copyPieces(plan, sources, readers, output, options);
    await output.sync();
    await output.close();
    await rename(partial, outPath);
  } catch (cause) {
    await output?.close().catch(() => undefined);
    await rm(partial, { force: true });
    if (cause instanceof GgufError || options.signal?.aborted) throw cause;
    throw new WriteFailedError(outPath, unwritable(cause), cause);
  } finally {
    await Promise.all([...readers.values()].map((reader) => reader.close()));
  }
}

async function copyPieces(
  plan: FilePlan,
  sources: readonly SourceFile[],
  readers: Map<number, FileReader>,
  output: FileHandle,
  { signal, onProgress }: WriteOptions,
): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(bufferBytes, Math.max(plan.totalBytes, 1)));
  let filled = 0;
  let written = 0;
  const flush = async () => {
    signal?.throwIfAborted();
    await writeAll(output, buffer.subarray(0, filled), written);
    written += filled;
    filled = 0;
    onProgress?.(written, plan.totalBytes);
  };
  const pad = async (end: number) => {
    while (written + filled < end) {
      const count = Math.min(end - written - filled, buffer.byteLength - filled);
      buffer.fill(0, filled, filled + count);
      filled += count;
      if (filled === buffer.byteLength) await flush();
    }
  };
  for (const { offset, data } of plan.pieces) {
    await pad(offset);
    const length = data.from === 'source' ? data.byteLength : data.bytes.byteLength;
    for (let done = 0; done < length; ) {
      const count = Math.min(length - done, buffer.byteLength - filled);
      await takePiece(data, done, buffer.subarray(filled, filled + count), sources, readers);
      filled += count;
      done += count;
      if (filled === buffer.byteLength) await flush();
    }
  }
  await pad(plan.totalBytes);
  if (filled > 0) await flush();
}

async function takePiece(
  piece: Piece,
  from: number,
  target: Buffer,
  sources: readonly SourceFile[],
  readers: Map<number, FileReader>,
): Promise<void> {
  if (piece.from === 'bytes') {
    target.set(piece.bytes.subarray(from, from + target.byteLength));
    return;
  }
  let reader = readers.get(piece.file);
  if (reader === undefined) {
    const source = sources[piece.file];
    if (source === undefined) throw new RangeError(`the plan names source file ${piece.file} of ${sources.length}`);
    reader = await openFileReader(source.path);
    readers.set(piece.file, reader);
    if (reader.size !== source.bytes || reader.changedAt !== source.changedAt) {
      throw new SourceChangedError(source.path);
    }
  }
  const offset = piece.offset + from;
  const found = await reader.read(offset, target);
  if (found < target.byteLength) throw new TruncatedError(reader.path, offset + target.byteLength, offset + found);
}

async function writeAll(output: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  let done = 0;
  while (done < bytes.byteLength) {
    done += (await output.write(bytes, done, bytes.byteLength - done, offset + done)).bytesWritten;
  }
}

function unwritable(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return 'could not be written: the disk is full; free some space.';
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return 'could not be written: no permission for its folder.';
    case 'ENOENT':
      return 'could not be written: its folder does not exist.';
    default:
      return `could not be written (${cause instanceof Error ? cause.message : String(cause)}).`;
  }
}
