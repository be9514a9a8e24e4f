import { join } from 'node:path';
import { isUnchanged } from './checkStageFiles.ts';
import type { HeldFiles, HeldParts } from './heldModel.ts';
import type { StageFolder } from './stageFolders.ts';

/** The tensors of a model in those stages' files that are whole and as they were; undefined where there are none. */
export async function heldParts(model: string, folders: readonly StageFolder[]): Promise<HeldParts | undefined> {
  const files: HeldFiles['files'][number][] = [];
  const tensors = new Map<string, { file: number; offset: number; byteLength: number }>();
  const hashes = new Map<string, string>();
  for (const { path, record } of folders) {
    if (record === null || record.model !== model || !(await isUnchanged(path, record))) continue;
    for (const { tensor, file, at, bytes, sha256 } of record.tensors) {
      tensors.set(tensor, { file: files.length + file, offset: at, byteLength: bytes });
      hashes.set(tensor, sha256);
    }
    files.push(...record.files.map(({ name, ...file }) => ({ ...file, path: join(path, name) })));
  }
  return files.length === 0 ? undefined : { files: { tensors, files }, hashes };
}
