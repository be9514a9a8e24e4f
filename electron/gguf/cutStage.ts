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
  /** On disk, the embedding's file included. */
  bytes: number;
  embedding: EmbeddingTable | null;
}

/**
 * Writes the GGUF of layers [start, end) to `outPath` (a name that ends in .gguf), and for the first stage the token
 * embedding beside it (`.embedding.gguf`). Both are written or neither; nothing is left on failure or abort. Rejects with
 * a `GgufError`, or with the signal's reason.
 */
export async function cutStage(
  model: ModelSource,
  range: LayerRange,
  outPath: string,
  options: WriteOptions = {},
): Promise<StageFile> {
  const plan = planStageFile(model, range);
  const totalBytes = plan.stage.totalBytes + (plan.embedding?.file.totalBytes ?? 0);
  const write = (file: FilePlan, path: string, before: number) =>
    writeFilePlan(file, model.files, path, {
      ...options,
      onProgress: (done) => options.onProgress?.(before + done, totalBytes),
    });

  const embeddingPath = outPath.replace(/(\.gguf)?$/, '.embedding.gguf');
  if (plan.embedding !== null) await write(plan.embedding.file, embeddingPath, 0);
  try {
    await write(plan.stage, outPath, totalBytes - plan.stage.totalBytes);
  } catch (cause) {
    if (plan.embedding !== null) await rm(embeddingPath, { force: true });
    throw cause;
  }
  const embedding = embeddingTable(plan, embeddingPath);
  return { path: outPath, role: plan.role, layers: plan.layers, bytes: totalBytes, embedding };
}

function embeddingTable({ embedding }: StagePlan, path: string): EmbeddingTable | null {
  const [tensor] = embedding?.file.tensors ?? [];
  const [offset] = embedding?.file.tensorOffsets ?? [];
  if (embedding === null || tensor === undefined || offset === undefined) return null;
  const [columns = 0, rows = 1] = tensor.dimensions;
  return { path, offset, type: tensor.type, rows, columns, scale: embedding.scale };
}
