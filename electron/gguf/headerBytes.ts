import type { ModelSource } from './openModel.ts';

/** Bytes of each file of a model before its first tensor, in the order of the set: its header, and the padding after it. */
export function headerBytes(model: Pick<ModelSource, 'files' | 'tensors'>): number[] {
  const first = model.files.map(({ bytes }) => bytes);
  for (const { file, offset } of model.tensors.values()) first[file] = Math.min(first[file] ?? offset, offset);
  return first;
}
