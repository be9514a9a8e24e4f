import { join } from 'node:path';
import { isUnchanged } from './checkStageFiles.ts';
import type { ExpectedHashes } from './expectedHashes.ts';
import type { HeldModel } from './heldModel.ts';
import type { StageFolder } from './stageFolders.ts';
import { EMBEDDING_FILE, type StageLayout } from './stageLayout.ts';
import type { LocalTensor } from './stageTransfer.ts';

/** What lies on this disk already. */
export interface LocalTensors {
  /** Where a tensor lies, the best first. */
  tensors(tensor: string): LocalTensor[];
  /** Whole files that a stage's files can be had from without copying where reflinks are, by the name of the stage's file. */
  clones(layout: StageLayout): Map<string, string>;
}

/**
 * Where the tensors of a model lie on this disk: in `held`, its own files, and in the whole stage files among `kept`, whose
 * hashes `expected` learns.
 */
export async function findLocalTensors(
  model: string,
  { kept, held, expected }: { kept: readonly StageFolder[]; held: HeldModel | undefined; expected: ExpectedHashes },
): Promise<LocalTensors> {
  const tensors = new Map<string, LocalTensor[]>();
  const embeddings: { path: string; bytes: number }[] = [];
  const add = (tensor: string, local: LocalTensor): void => {
    tensors.set(tensor, [...(tensors.get(tensor) ?? []), local]);
  };
  for (const { key, path, record } of kept) {
    if (record === null || record.model !== model || !(await isUnchanged(path, record))) continue;
    for (const { tensor, file, at, sha256 } of record.tensors) {
      const name = record.files[file]?.name ?? '';
      add(tensor, { path: join(path, name), at, sha256, what: `the stage file of layers ${key.split('/')[1]}` });
      if (expected.get(tensor) === undefined) {
        expected.claim(tensor, { member: 'this member', sha256, recorded: true });
      }
    }
    const embedding = record.files.find(({ name }) => name === EMBEDDING_FILE);
    if (embedding !== undefined) embeddings.push({ path: join(path, EMBEDDING_FILE), bytes: embedding.bytes });
  }
  for (const { name, file, offset } of held?.source.tensors.values() ?? []) {
    const path = held?.source.files[file]?.path ?? '';
    add(name, { path, at: offset, sha256: held?.hashes.get(name) ?? null, what: "the model's own file" });
  }
  return {
    tensors: (tensor) => tensors.get(tensor) ?? [],
    clones: (layout) => {
      const wanted = layout.files.find(({ name }) => name === EMBEDDING_FILE);
      const same = embeddings.find(({ bytes }) => bytes === wanted?.plan.totalBytes);
      return new Map(same === undefined ? [] : [[EMBEDDING_FILE, same.path]]);
    },
  };
}
