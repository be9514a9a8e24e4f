import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileHasher } from './fileHasher.ts';
import { headerOf, type KnownModel } from './modelHeaders.ts';
import type { StageFolder } from './stageFolders.ts';
import type { StageLayout } from './stageLayout.ts';
import type { StageRecord } from './stageRecord.ts';

/** Whether whole files are as they were, by what the file system says; no byte is read. */
export async function isUnchanged(path: string, record: StageRecord): Promise<boolean> {
  for (const { name, bytes, changedAt } of record.files) {
    const file = await stat(join(path, name)).catch(() => null);
    if (file === null || file.size !== bytes || file.mtimeMs !== changedAt) return false;
  }
  return true;
}

/** The tensors of whole files that are what their record says, as `FILE AT`, read byte by byte. */
export async function goodTensors(
  hasher: FileHasher,
  { path, record }: StageFolder,
  signal: AbortSignal,
): Promise<Set<string>> {
  const good = new Set<string>();
  for (const { file, at, bytes, sha256 } of record?.tensors ?? []) {
    const name = join(path, record?.files[file]?.name ?? '');
    const found = await hasher.hash(name, { at, bytes }, { signal }).catch((cause: unknown) => {
      signal.throwIfAborted();
      return `unreadable: ${String(cause)}`;
    });
    if (found === sha256) good.add(`${file} ${at}`);
  }
  return good;
}

/** Whether all that is no tensor is as the header of the model has it. */
export async function fixedIsGood(folder: string, layout: StageLayout, known: KnownModel): Promise<boolean> {
  const headers = await Promise.all(known.source.files.map((_, index) => headerOf(known, index)));
  for (const { name, fixed } of layout.files) {
    const file = await open(join(folder, name), 'r').catch(() => null);
    if (file === null) return false;
    try {
      for (const { offset, data } of fixed) {
        const bytes = data.from === 'bytes' ? data.bytes : partOf(headers[data.file], data);
        const found = Buffer.alloc(bytes.byteLength);
        await file.read(found, 0, found.byteLength, offset);
        if (!found.equals(bytes)) return false;
      }
    } finally {
      await file.close();
    }
  }
  return true;
}

function partOf(header: Buffer | undefined, { offset, byteLength }: { offset: number; byteLength: number }): Buffer {
  if (header === undefined || offset + byteLength > header.byteLength) throw new RangeError('no such part of a header');
  return header.subarray(offset, offset + byteLength);
}
