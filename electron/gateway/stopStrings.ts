interface StopMatcher {
  readonly stop: string;
  /** Knuth-Morris-Pratt: at i, the length of the longest proper prefix of `stop` that ends at i. */
  readonly fallback: readonly number[];
  /** Length of the longest prefix of `stop` that the text so far ends with. */
  matched: number;
}

/**
 * Looks for stop strings in text that comes in pieces. No part of a stop string is ever released: text that could still
 * become one is held back until it does or does not. The first to be complete wins, the longest of those that end at the
 * same place; so the answer does not depend on where the pieces are cut. Time per character: amortised, one comparison
 * and stop string.
 */
export class StopStrings {
  readonly #matchers: StopMatcher[];
  #held = '';
  #found: { stop: string; rest: string } | null = null;

  /** Empty strings stop nothing and are left out. */
  constructor(stops: readonly string[]) {
    this.#matchers = stops
      .filter((stop) => stop !== '')
      .map((stop) => ({ stop, fallback: fallbackOf(stop), matched: 0 }));
  }

  /** True once a stop string is complete; nothing more comes then. */
  get stopped(): boolean {
    return this.#found !== null;
  }

  /** The stop string that was complete first, and the text after it that had come with it. */
  get found(): { readonly stop: string; readonly rest: string } | null {
    return this.#found;
  }

  /** Returns the text that is now sure to come before any stop string. */
  push(text: string): string {
    if (this.#found !== null || this.#matchers.length === 0) return this.#found === null ? text : '';
    const pending = this.#held + text;
    for (let end = this.#held.length; end < pending.length; end += 1) {
      let complete = '';
      for (const matcher of this.#matchers) {
        advance(matcher, pending.charAt(end));
        if (matcher.matched === matcher.stop.length && matcher.matched > complete.length) complete = matcher.stop;
      }
      if (complete !== '') {
        this.#found = { stop: complete, rest: pending.slice(end + 1) };
        this.#held = '';
        return pending.slice(0, end + 1 - complete.length);
      }
    }
    const held = Math.max(...this.#matchers.map((matcher) => matcher.matched));
    this.#held = pending.slice(pending.length - held);
    return pending.slice(0, pending.length - held);
  }

  /** The text that was held back, once no more will come. */
  flush(): string {
    const held = this.#held;
    this.#held = '';
    for (const matcher of this.#matchers) matcher.matched = 0;
    return held;
  }
}

function advance(matcher: StopMatcher, character: string): void {
  while (matcher.matched > 0 && matcher.stop.charAt(matcher.matched) !== character) {
    matcher.matched = matcher.fallback[matcher.matched - 1] ?? 0;
  }
  if (matcher.stop.charAt(matcher.matched) === character) matcher.matched += 1;
}

function fallbackOf(stop: string): number[] {
  const fallback = [0];
  let length = 0;
  for (let index = 1; index < stop.length; index += 1) {
    while (length > 0 && stop.charAt(index) !== stop.charAt(length)) length = fallback[length - 1] ?? 0;
    if (stop.charAt(index) === stop.charAt(length)) length += 1;
    fallback.push(length);
  }
  return fallback;
}
