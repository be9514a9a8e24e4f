import { randomInt } from 'node:crypto';

/** A piece of a prompt. What came from a client is plain: no text in it is read as a control token. */
export interface PromptPiece {
  text: string;
  plain: boolean;
}

const DIGITS = 32;

/**
 * Keeps what clients write from being read as control tokens (`<|im_end|>`), without a change to any other text: before a template
 * sees them, `cover` puts a number that nobody can guess in the place of every control token's text; `pieces` finds those in the
 * prompt and gives the texts back as plain pieces.
 */
export class PlainText {
  readonly #controls: RegExp | null;
  readonly #covers = new Map<string, string>();

  /** `controlTokens` as a `ServedModel` has them. */
  constructor(controlTokens: ReadonlyMap<number, string>) {
    this.#controls = controlPattern(controlTokens);
  }

  /** The value with every string in it covered, keys too. Arrays and plain objects are copied. */
  cover<T>(value: T): T;
  cover(value: unknown): unknown {
    if (this.#controls === null) return value;
    if (typeof value === 'string') return this.#text(value, this.#controls);
    if (Array.isArray(value)) return value.map((each: unknown) => this.cover(each));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [this.cover(key), this.cover(each)]));
  }

  /** The prompt that a template made of covered values. */
  pieces(prompt: string): PromptPiece[] {
    if (this.#covers.size === 0) return [{ text: prompt, plain: false }];
    const texts = new Map([...this.#covers].map(([text, cover]) => [cover, text]));
    return prompt
      .split(new RegExp(`(${[...texts.keys()].join('|')})`, 'u'))
      .map((text) => {
        const plain = texts.get(text);
        return plain === undefined ? { text, plain: false } : { text: plain, plain: true };
      })
      .filter(({ text }) => text !== '');
  }

  #text(text: string, controls: RegExp): string {
    return text.replace(controls, (control) => {
      const known = this.#covers.get(control);
      if (known !== undefined) return known;
      const cover = Array.from({ length: DIGITS }, () => randomInt(10)).join('');
      this.#covers.set(control, cover);
      return cover;
    });
  }
}

const patterns = new WeakMap<ReadonlyMap<number, string>, RegExp | null>();

/** What finds control tokens in a text, null where there are none. The longest of those that begin at one place comes first, as tokenizers have it. */
export function controlPattern(tokens: ReadonlyMap<number, string>): RegExp | null {
  const known = patterns.get(tokens);
  if (known !== undefined) return known;
  const texts = [...new Set(tokens.values())].filter((text) => text !== '').sort((a, b) => b.length - a.length);
  const escaped = texts.map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  const pattern = escaped.length === 0 ? null : new RegExp(escaped.join('|'), 'gu');
  patterns.set(tokens, pattern);
  return pattern;
}
