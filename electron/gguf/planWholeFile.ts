import { type FilePlan, layOut, type PlannedTensor } from './filePlan.ts';
import type { ModelSource } from './openModel.ts';

/** Plans one GGUF that holds all of a model, also of one that lies in a split set. */
export function planWholeFile(model: ModelSource): FilePlan {
  const metadata = [];
  for (const { key, offset, byteLength } of model.metadata.entries()) {
    if (key.startsWith('split.')) continue;
    metadata.push({ key, data: { from: 'source', file: 0, offset, byteLength } as const });
  }
  const tensors = [...model.tensors.values()].map(
    ({ name, type, dimensions, byteLength, file, offset }): PlannedTensor => ({
      name,
      type: type.id,
      dimensions,
      byteLength,
      data: { from: 'source', file, offset, byteLength },
    }),
  );
  return layOut({ alignment: model.alignment, metadata, tensors });
}
