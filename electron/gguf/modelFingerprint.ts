import { createHash } from 'node:crypto';
import type { ModelSource } from './openModel.ts';

/**
 * A hash of what a model's header says: sizes, every tensor's name, type, shape and place, and the metadata but for long
 * arrays. Two members whose files answer the same cut their stages from the same model, unless somebody changed weights
 * alone; those are known by the hash of the whole file only.
 */
export function modelFingerprint(model: ModelSource): string {
  const hash = createHash('sha256');
  const add = (...parts: (string | number)[]): void => void hash.update(`${parts.join('\0')}\n`);
  for (const { bytes } of model.files) add('file', bytes);
  for (const { name, type, dimensions, file, offset } of model.tensors.values()) {
    add('tensor', name, type.name, dimensions.join('x'), file, offset);
  }
  for (const entry of model.metadata.entries()) {
    add('key', entry.key, entry.type, entry.offset, entry.byteLength);
    if (entry.type !== 'array') add(String(entry.value));
  }
  return hash.digest('hex');
}
