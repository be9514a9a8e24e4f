import type { GeneratedToken, TokenPieces } from '../pipeline/serving/servedModel.ts';
import type { TextToken } from './textRequest.ts';
import { tokenBytes } from './tokenBytes.ts';

/**
 * Tokens with their log probabilities, released with the text in which they begin: text may wait for the rest of a
 * character, or because it could become a stop string, and its tokens wait with it.
 */
export class TokenDetails {
  readonly #pieces: TokenPieces;
  readonly #waiting: { start: number; token: TextToken }[] = [];

  constructor(pieces: TokenPieces) {
    this.#pieces = pieces;
  }

  /** `start` is the length of the text before the token. One without log probability is not kept. */
  push({ id, logprob, top }: GeneratedToken, start: number): void {
    if (logprob === null) return;
    const bytes = tokenBytes(this.#pieces, id);
    const others = top.map((one) => ({ bytes: tokenBytes(this.#pieces, one.id), logprob: one.logprob }));
    this.#waiting.push({ start, token: { bytes, logprob, top: others } });
  }

  /** The tokens that begin before `end`, the length of the text that is shown. */
  take(end: number): TextToken[] {
    const count = this.#waiting.findIndex(({ start }) => start >= end);
    return this.#waiting.splice(0, count < 0 ? this.#waiting.length : count).map(({ token }) => token);
  }

  /** What is left when an answer ends without a stop string. */
  takeAll(): TextToken[] {
    return this.take(Number.POSITIVE_INFINITY);
  }
}
