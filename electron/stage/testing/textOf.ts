import type { NativeVocabulary } from '../nativeAddon.ts';

/** The text of tokens, as their bytes say it. */
export function textOf(vocabulary: NativeVocabulary, tokens: readonly number[]): string {
  const { bytes, offsets } = vocabulary.pieces();
  return Buffer.concat(tokens.map((token) => bytes.subarray(offsets[token], offsets[token + 1]))).toString('utf8');
}
