import type { TokenPieces } from '../pipeline/serving/servedModel.ts';
import { tokenBytes } from './tokenBytes.ts';

/**
 * Turns tokens into text. A character whose UTF-8 bytes are split across tokens comes whole with its last byte; bytes
 * that can never become a character come as U+FFFD. What is still incomplete when a generation ends is never shown.
 */
export class TokenText {
  readonly #pieces: TokenPieces;
  // ignoreBOM keeps U+FEFF in the text, as it keeps every other character.
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  readonly #shown: ReadonlyMap<number, Uint8Array>;

  /** `shown`: control tokens that come as their text all the same. */
  constructor(pieces: TokenPieces, shown: ReadonlyMap<number, string> = new Map()) {
    this.#pieces = pieces;
    this.#shown = new Map([...shown].map(([token, text]) => [token, new TextEncoder().encode(text)]));
  }

  /** The text that `token` completes; empty for a control token and while a character is incomplete. */
  push(token: number): string {
    return this.#decoder.decode(this.#shown.get(token) ?? tokenBytes(this.#pieces, token), { stream: true });
  }
}
