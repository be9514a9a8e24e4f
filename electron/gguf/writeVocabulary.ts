import { type FilePlan, layOut } from './filePlan.ts';
import type { ModelSource } from './openModel.ts';
import { type WriteOptions, writeFilePlan } from './writeFilePlan.ts';

/** Plans a GGUF that holds a model's metadata and no tensor, for loading the tokenizer alone. */
export function planVocabulary(model: ModelSource): FilePlan {
  const metadata = [];
  for (const { key, offset, byteLength } of model.metadata.entries()) {
    if (key.startsWith('split.')) continue;
    metadata.push({ key, data: { from: 'source', file: 0, offset, byteLength } as const });
  }
  return layOut({ alignment: model.alignment, metadata, tensors: [] });
}

/** Writes the metadata of a model alone to `outPath`, for `vocab_only` loading. Whole or not there, as `cutStage`. */
export async function writeVocabulary(model: ModelSource, outPath: string, options: WriteOptions = {}): Promise<void> {
  await writeFilePlan(planVocabulary(model), model.files, outPath, options);
}
