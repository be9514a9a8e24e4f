import { commonLength } from './commonLength.ts';

/** A slot of whose beginning another may get a copy. */
export interface PrefixHolder {
  /** What lies or will lie there, from position 0. */
  readonly tokens: readonly number[];
  /** How many of them every stage has been sent: frames keep their order, so they lie there before whatever is sent next. */
  readonly sent: number;
  /** How many will have been sent if nothing goes wrong, where more are under way. */
  readonly coming: number;
}

export interface SharedPrefix<H extends PrefixHolder> {
  readonly holder: H;
  /** Tokens that the prompt has in common with it. */
  readonly length: number;
}

export interface PrefixRule {
  /** Beginnings are shared in multiples of so many tokens. */
  readonly unit: number;
  /** A copy that saves fewer tokens is not made; see `worthCopying`. */
  readonly worth: number;
}

/** Fewer tokens are computed along with the rest of a prompt in hardly more time: each step reads all weights once. */
const LEAST_WORTH_COPYING_TOKENS = 16;

/**
 * Tokens that a copy must save. Slots have KV cells of their own, of which llama.cpp copies all, used or not, so a copy costs by
 * the length of a slot: for each of its tokens some 2 x KV bytes are moved, 64 KB to 1 MB. Computing a token of a prompt
 * takes 2 operations per weight. By the bandwidth and speed of common processors a token computed costs as much as
 * moving 600 to 3,000 with grouped heads, and on a graphics card with one KV head per head still 160 to 300.
 */
export function worthCopying(slotLength: number): number {
  return Math.max(LEAST_WORTH_COPYING_TOKENS, Math.ceil(slotLength / 256));
}

/**
 * What to copy for a prompt whose slot holds its first `held` tokens: the longest beginning that has been sent, null where
 * that saves too little. The last token of the prompt never counts: computing it gives the first of the answer.
 */
export function prefixToCopy<H extends PrefixHolder>(
  prompt: readonly number[],
  held: number,
  holders: Iterable<H>,
  { unit, worth }: PrefixRule,
): SharedPrefix<H> | null {
  const longest = longestOf(prompt, holders, unit, ({ sent }) => sent);
  return longest !== null && longest.length - held >= worth ? longest : null;
}

/** What to wait for, since it will be so much longer than the `held` tokens that the prompt can go on from now; null for nothing. */
export function prefixToAwait<H extends PrefixHolder>(
  prompt: readonly number[],
  held: number,
  holders: Iterable<H>,
  { unit, worth }: PrefixRule,
): SharedPrefix<H> | null {
  const longest = longestOf(prompt, holders, unit, ({ coming }) => coming);
  return longest !== null && longest.length > longest.holder.sent && longest.length - held >= worth ? longest : null;
}

function longestOf<H extends PrefixHolder>(
  prompt: readonly number[],
  holders: Iterable<H>,
  unit: number,
  reach: (holder: H) => number,
): SharedPrefix<H> | null {
  let longest: SharedPrefix<H> | null = null;
  for (const holder of holders) {
    const common = Math.min(commonLength(holder.tokens, prompt), reach(holder), prompt.length - 1);
    const length = Math.max(0, common - (common % unit));
    if (longest === null || length > longest.length) longest = { holder, length };
  }
  return longest;
}
