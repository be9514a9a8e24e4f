import { createHash } from 'node:crypto';
import type { ModelSource } from './openModel.ts';

/**
 * A model's content id, known as soon as its headers are read: SHA-256 in hex over one line `BYTES HEADER_SHA256` for each of
 * its files in the order of the set, where the header's hash covers every byte up to the last tensor's line, and a line
 * `weights SAMPLE_SHA256` (see `sampleWeights`). Neither names nor paths enter it, so copies on other machines have the
 * same; a header that came over the network is checked by it. Checkpoints of one model differ in it. Files that differ
 * only between the sampled bytes share it: those are told apart by the hashes of their tensors, see `weightsId`.
 */
export function modelFingerprint({ files, sampleSha256 }: Pick<ModelSource, 'files' | 'sampleSha256'>): string {
  const hash = createHash('sha256');
  for (const { bytes, headerSha256 } of files) hash.update(`${bytes} ${headerSha256}\n`);
  hash.update(`weights ${sampleSha256}\n`);
  return hash.digest('hex');
}
