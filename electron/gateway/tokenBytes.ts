import type { TokenPieces } from '../pipeline/serving/servedModel.ts';

/** The bytes of a token; none for a control token. Throws RangeError for one that there is not. */
export function tokenBytes({ bytes, offsets }: TokenPieces, token: number): Uint8Array {
  const [start, end] = [offsets[token], offsets[token + 1]];
  if (start === undefined || end === undefined) throw new RangeError(`Token ${token} is not in the vocabulary.`);
  return bytes.subarray(start, end);
}
