import { rm } from 'node:fs/promises';
import type { LayerRange } from './architectures.ts';
import type { EmbeddingTable } from './embeddingTable.ts';
import type { FilePlan } from './filePlan.ts';
import type { ModelSource } from './openModel.ts';
import { planStageFile, type StagePlan } from './planStageFile.ts';
import { type WriteOptions, writeFilePlan } from './writeFilePlan.ts';

/** A stage on disk, as the stage host wants it described. */
export interface StageFile {
  path: string;
  role: StagePlan['role'];
  layers: number;
  /** On disk, all its files together. */
  bytes: number;
  embedding: EmbeddingTable | null;
  /** Path of the tokenizer's GGUF; null on stages that do not sample. */
  vocabulary: string | null;
}

/**
 * Writes the GGUF of layers [start, end) to `outPath` (a name that ends in .gguf), and for the first stage the token
 * embedding beside it (`.embedding.gguf`), for the last the tokenizer (`.vocabulary.gguf`). All are written or none; nothing is left on failure or abort. Rejects with
 * a `GgufError`, or with the signal's reason.
 */
export async function cutStage(
  model: ModelSource,
  range: LayerRange,
  outPath: string,
  options: WriteOptions = {},
): Promise<StageFile> {
  const plan = planStageFile(model, range);
  const beside = (kind: string): string => outPath.replace(/(\.gguf)?$/, `.${kind}.gguf`);
  const files: { plan: FilePlan; path: string }[] = [];
  if (plan.embedding !== null) files.push({ plan: plan.embedding.file, path: beside('embedding') });
  if (plan.vocabulary !== null) files.push({ plan: plan.vocabulary, path: beside('vocabulary') });
  files.push({ plan: plan.stage, path: outPath });
  const totalBytes = files.reduce((sum, file) => sum + file.plan.totalBytes, 0);

  let before = 0;
  const written: string[] = [];
  try {
    for (const { plan: file, path } of files) {
      const start = before;
      const onProgress = (done: number): void => options.onProgress?.(start + done, totalBytes);
      await writeFilePlan(file, model.files, path, { ...options, onProgress });
      written.push(path);
      before += file.totalBytes;
    }
  } catch (cause) {
    await Promise.all(written.map((path) => rm(path, { force: true })));
    throw cause;
  }
  return {
    path: outPath,
    role: plan.role,
    layers: plan.layers,
    bytes: totalBytes,
    embedding: embeddingTable(plan, beside('embedding')),
    vocabulary: plan.vocabulary === null ? null : beside('vocabulary'),
  };
}

function embeddingTable({ embedding }: StagePlan, path: string): EmbeddingTable | null {
  const [tensor] = embedding?.file.tensors ?? [];
  const [offset] = embedding?.file.tensorOffsets ?? [];
  if (embedding === null || tensor === undefined || offset === undefined) return null;
  const [columns = 0, rows = 1] = tensor.dimensions;
  return { path, offset, type: tensor.type, rows, columns, scale: embedding.scale };
}
