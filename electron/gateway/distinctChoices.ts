import { greedySampling } from '../pipeline/sampling/plainSampling.ts';
import type { GeneratedToken, ServedModel, TokenPieces } from '../pipeline/serving/servedModel.ts';
import { type Draws, generateText } from './generateText.ts';
import type { AdmittedRequest, TextEvent } from './textRequest.ts';
import { tokenBytes } from './tokenBytes.ts';

/** How often a choice tries to say something else before it is given as it is. */
const MOST_ATTEMPTS = 24;
/** How many places of an answer are asked for another token that its grammar allows there. */
const MOST_PROBES = 64;
/** OpenAI's for never. */
const BAN = -100;
const MOST_BANS = 1000;

/** A choice so far. */
interface Said {
  /** What it says and calls, as one text. */
  words: string;
  draws: Draws;
  ended: boolean;
  /** It stands: no other attempt takes its place. */
  stands: boolean;
}

/** What a choice begins with instead of what it drew. */
type Given = Pick<Draws, 'text' | 'calls'>;

/** What stood or was tried at a place, by the tokens before it. */
type Taken = Map<string, Set<number>>;

/**
 * Answers to one request of which no two say and call the same, as far as there are so many. A model that is sure of itself gives
 * equal answers to different random numbers; then the later one is begun again from the most probable token that it has not taken,
 * and goes on by itself. Nothing of a choice is given while it could still become equal to an earlier one. Which answers come does
 * not depend on what is quicker. Where a grammar holds, the model is asked for the tokens that it allows, the least sure place first.
 */
export class DistinctChoices {
  readonly #admitted: AdmittedRequest;
  readonly #signal: AbortSignal;
  readonly #askedLogprobs: number | null;
  readonly #said: Said[];
  #waiting: (() => void)[] = [];

  constructor(admitted: AdmittedRequest, count: number, signal: AbortSignal) {
    const { request } = admitted;
    this.#askedLogprobs = request.sampling.topLogprobs;
    const topLogprobs = Math.max(request.sampling.topLogprobs ?? 0, count);
    this.#admitted = { ...admitted, request: { ...request, sampling: { ...request.sampling, topLogprobs } } };
    this.#signal = signal;
    this.#said = Array.from({ length: count }, (_, index) => ({ ...nothingSaid(), stands: index === 0 }));
    signal.addEventListener('abort', () => this.#changed(), { once: true });
  }

  /** The events of a choice; all choices have to be read at the same time, since they wait for each other. */
  async *choice(index: number): AsyncGenerator<TextEvent> {
    const taken: Taken = new Map();
    const probes = { left: MOST_PROBES };
    let given: Given = { text: [], calls: [] };
    for (let attempt = 0; ; attempt += 1) {
      const said: Said = { ...nothingSaid(), stands: index === 0 };
      this.#said[index] = said;
      const held: TextEvent[] = [];
      const options = { choice: index, given, draws: said.draws };
      for await (const event of generateText(this.#admitted, this.#signal, options)) {
        held.push(asAsked(event, this.#askedLogprobs));
        said.words += wordsOf(event, this.#admitted.request.sampling.grammar !== null);
        if (event.kind === 'end') said.ended = true;
        else if (said.stands || this.#standsApart(index)) yield* held.splice(0);
        this.#changed();
      }
      const equal = said.stands ? null : await this.#equalOf(index);
      const next = equal === null || attempt >= MOST_ATTEMPTS ? null : await this.#otherBeginning(equal, taken, probes);
      if (next === null) {
        said.stands = true;
        this.#changed();
        yield* held;
        return;
      }
      given = next;
    }
  }

  /** Whether nothing that may still come can make a choice equal to an earlier one; it stands from then on. */
  #standsApart(index: number): boolean {
    const said = this.#said[index];
    if (said === undefined) return false;
    said.stands ||= this.#said.slice(0, index).every((earlier) => isApart(said, earlier));
    return said.stands;
  }

  /** The earlier choice that says the same as this one, which has ended; null where there is none. */
  async #equalOf(index: number): Promise<Said | null> {
    for (;;) {
      this.#signal.throwIfAborted();
      const said = this.#said[index];
      if (said === undefined || this.#standsApart(index)) return null;
      const earlier = this.#said.slice(0, index);
      const unknown = earlier.some((one) => !one.stands || (!one.ended && !isApart(said, one)));
      const equal = earlier.find((one) => one.stands && one.ended && one.words === said.words);
      if (!unknown) return equal ?? null;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async #otherBeginning({ draws }: Said, taken: Taken, probes: { left: number }): Promise<Given | null> {
    const { text, calls, callContext } = draws;
    const { request, promptTokens } = this.#admitted;
    if (callContext !== null) {
      const grammar = request.shape.calls?.grammar ?? null;
      const other = await this.#allowedBeginning({ tokens: calls, context: callContext, grammar }, taken, probes);
      return other && { text, calls: other };
    }
    const { grammar } = request.sampling;
    if (grammar === null) return this.#likelyBeginning(text, taken);
    const other = await this.#allowedBeginning({ tokens: text, context: promptTokens, grammar }, taken, probes);
    return other && { text: other, calls: [] };
  }

  /** Of all other tokens at all places the most probable one. */
  #likelyBeginning(tokens: readonly GeneratedToken[], taken: Taken): Given | null {
    const { request, maxTokens } = this.#admitted;
    let best: { place: number; tried: Set<number>; token: GeneratedToken } | null = null;
    for (const { place, token, tried } of placesOf(tokens.slice(0, maxTokens), taken)) {
      for (const { id, logprob } of token.top) {
        const isEmpty = place === 0 && request.model.endTokens.has(id);
        if (isEmpty || tried.has(id)) continue;
        if (best === null || logprob > (best.token.logprob ?? 0))
          best = { place, tried, token: { id, logprob, top: token.top } };
      }
    }
    if (best === null) return null;
    best.tried.add(best.token.id);
    return { text: [...tokens.slice(0, best.place), best.token], calls: [] };
  }

  /** The model's own second thought at the place where it was least sure of its first, among those that have another. */
  async #allowedBeginning(
    drawn: { tokens: readonly GeneratedToken[]; context: readonly number[]; grammar: string | null },
    taken: Taken,
    probes: { left: number },
  ): Promise<GeneratedToken[] | null> {
    const { request } = this.#admitted;
    const places = placesOf(drawn.tokens, taken).sort((a, b) => (a.token.logprob ?? 0) - (b.token.logprob ?? 0));
    for (const { place, tried } of places) {
      if (probes.left === 0) return null;
      probes.left -= 1;
      const before = drawn.tokens.slice(0, place);
      const same = sameWay(drawn.tokens.slice(place), request.model);
      const banned = new Set([...tried, ...same, ...(place === 0 ? request.model.endTokens : [])]);
      const asked = {
        promptTokens: [...drawn.context, ...before.map(({ id }) => id)],
        answered: place,
        maxTokens: 1,
        sampling: {
          ...{ ...greedySampling, grammar: drawn.grammar, topLogprobs: request.sampling.topLogprobs },
          logitBias: [...request.sampling.logitBias, ...[...banned].map((token) => [token, BAN] as const)],
        },
        bulk: request.bulk,
      };
      for await (const token of request.model.generate(asked, this.#signal)) {
        if (banned.has(token.id)) break;
        tried.add(token.id);
        return [...before, token];
      }
    }
    return null;
  }

  #changed(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}

function nothingSaid(): Said {
  return { words: '', draws: { text: [], calls: [], callContext: null }, ended: false, stands: false };
}

/** Calls stand between NULs, which tells them from text; JSON that is only spaced otherwise says the same. */
function wordsOf(event: TextEvent, isJson: boolean): string {
  if (event.kind === 'call') return `\0${event.name}\0`;
  if (event.kind !== 'text' && event.kind !== 'arguments') return '';
  return isJson || event.kind === 'arguments' ? event.text.replaceAll(/\s/g, '') : event.text;
}

/** The places of an answer with what was tried at each after the same beginning, what stands there among it. */
function placesOf(
  tokens: readonly GeneratedToken[],
  taken: Taken,
): { place: number; token: GeneratedToken; tried: Set<number> }[] {
  let hash = 0;
  return tokens.map((token, place) => {
    // A hash will do: where two beginnings have the same, one is passed over.
    const key = `${place} ${hash}`;
    const tried = taken.get(key) ?? new Set();
    taken.set(key, tried.add(token.id));
    hash = (Math.imul(hash, 31) + token.id) | 0;
    return { place, token, tried };
  });
}

const strippedPieces = new WeakMap<TokenPieces, readonly (string | null)[]>();

/** The bytes of every token without white space, as latin1; null for control tokens. */
function stripped(pieces: TokenPieces): readonly (string | null)[] {
  const known = strippedPieces.get(pieces);
  if (known !== undefined) return known;
  const found = Array.from({ length: pieces.offsets.length - 1 }, (_, token) => {
    const bytes = tokenBytes(pieces, token);
    return bytes.length === 0
      ? null
      : Buffer.from(bytes)
          .toString('latin1')
          .replaceAll(/[\t\n\r ]/g, '');
  });
  strippedPieces.set(pieces, found);
  return found;
}

/** Tokens that would go on as `tokens` do, only cut or spaced otherwise; as many of them as may be banned at once. */
function sameWay(tokens: readonly GeneratedToken[], { pieces }: ServedModel): number[] {
  const texts = stripped(pieces);
  const rest = tokens.map(({ id }) => texts[id] ?? '').join('');
  const same: number[] = [];
  for (const [token, text] of texts.entries()) if (text !== null && rest.startsWith(text)) same.push(token);
  return same.slice(0, MOST_BANS);
}

/** Whether two choices can no longer become equal, whatever they go on with. */
function isApart(one: Said, earlier: Said): boolean {
  if (!earlier.stands) return false;
  if (one.words.length > earlier.words.length) return earlier.ended || !one.words.startsWith(earlier.words);
  if (!earlier.words.startsWith(one.words)) return true;
  return one.ended && one.words.length < earlier.words.length;
}

/** Alternatives that only the comparison needed are left out. */
function asAsked(event: TextEvent, topLogprobs: number | null): TextEvent {
  if (event.kind !== 'text') return event;
  if (topLogprobs === null) return { ...event, tokens: [] };
  return { ...event, tokens: event.tokens.map((token) => ({ ...token, top: token.top.slice(0, topLogprobs) })) };
}
