import { createHash } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type CheckOptions, damagedTensors, type TensorPlace } from './damagedTensors.ts';
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
  folder: StageFolder,
  options: CheckOptions,
): Promise<Set<string>> {
  const places = placesOf(folder);
  const damaged = new Set(await damagedTensors(hasher, places, options));
  return new Set(places.flatMap((place) => (damaged.has(place) ? [] : [`${place.file} ${place.at}`])));
}

/** What of whole files is not what their record says: names of tensors in the whole model, and 'header' for all else. */
export async function damagedParts(hasher: FileHasher, folder: StageFolder, options: CheckOptions): Promise<string[]> {
  const damaged = (await damagedTensors(hasher, placesOf(folder), options)).map(({ tensor }) => tensor);
  for (const [file, { name, bytes, fixedSha256 }] of (folder.record?.files ?? []).entries()) {
    const tensors = (folder.record?.tensors ?? []).filter((tensor) => tensor.file === file);
    const found = await hashFixed(join(folder.path, name), bytes, tensors).catch(() => null);
    if (found !== fixedSha256 && !damaged.includes('header')) damaged.push('header');
  }
  return damaged;
}

/** SHA-256 in hex of all bytes of a file but those of the tensors in it. */
export async function hashFixed(
  path: string,
  bytes: number,
  tensors: readonly { at: number; bytes: number }[],
): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(path, 'r');
  try {
    let from = 0;
    for (const { at, bytes: length } of [...tensors.toSorted((a, b) => a.at - b.at), { at: bytes, bytes: 0 }]) {
      const gap = Buffer.alloc(Math.max(0, at - from));
      const { bytesRead } = await file.read(gap, 0, gap.byteLength, from);
      hash.update(gap.subarray(0, bytesRead));
      from = at + length;
    }
    return hash.digest('hex');
  } finally {
    await file.close();
  }
}

function placesOf({ path, record }: StageFolder): (TensorPlace & { file: number })[] {
  return (record?.tensors ?? []).map((tensor) => ({
    ...tensor,
    path: join(path, record?.files[tensor.file]?.name ?? ''),
  }));
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
