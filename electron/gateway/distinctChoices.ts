import type { GeneratedToken } from '../pipeline/servedModel.ts';
import { generateText } from './generateText.ts';
import type { AdmittedRequest, TextEvent } from './textRequest.ts';

/** How often a choice tries to say something else before it is given as it is. */
const MOST_ATTEMPTS = 24;

/** A choice so far. */
interface Said {
  text: string;
  tokens: GeneratedToken[];
  ended: boolean;
  /** It stands: no other attempt takes its place. */
  stands: boolean;
  /** It calls tools, which may be called alike. */
  calls: boolean;
}

/**
 * Answers to one request of which no two say the same. A model that is sure of itself gives equal answers to different random
 * numbers; then the later one is begun again from the most probable token that it has not taken, and goes on by itself. Nothing of a
 * choice is given while it could still become equal to an earlier one. Which answers come does not depend on what is quicker.
 * Under a grammar nobody knows which tokens are left, so there a choice that is equal draws other numbers.
 */
export class DistinctChoices {
  readonly #admitted: AdmittedRequest;
  readonly #count: number;
  readonly #signal: AbortSignal;
  readonly #askedLogprobs: number | null;
  readonly #said: Said[];
  #waiting: (() => void)[] = [];

  constructor(admitted: AdmittedRequest, count: number, signal: AbortSignal) {
    const { request } = admitted;
    this.#askedLogprobs = request.sampling.topLogprobs;
    const topLogprobs = Math.max(request.sampling.topLogprobs ?? 0, count);
    this.#admitted = { ...admitted, request: { ...request, sampling: { ...request.sampling, topLogprobs } } };
    this.#count = count;
    this.#signal = signal;
    this.#said = Array.from({ length: count }, (_, index) => ({ ...nothingSaid(), stands: index === 0 }));
    signal.addEventListener('abort', () => this.#changed(), { once: true });
  }

  /** The events of a choice; all choices have to be read at the same time, since they wait for each other. */
  async *choice(index: number): AsyncGenerator<TextEvent> {
    const asked = this.#admitted.request;
    const taken = new Set<string>();
    let given: GeneratedToken[] = [];
    for (let attempt = 0; ; attempt += 1) {
      const said: Said = { ...nothingSaid(), stands: index === 0 };
      this.#said[index] = said;
      const held: TextEvent[] = [];
      const draws = asked.sampling.grammar === null ? 0 : attempt;
      const options = {
        choice: index + draws * this.#count,
        given,
        onToken: (token: GeneratedToken) => said.tokens.push(token),
      };
      for await (const event of generateText(this.#admitted, this.#signal, options)) {
        held.push(asAsked(event, this.#askedLogprobs));
        if (event.kind === 'text') said.text += event.text;
        if (event.kind === 'call') said.calls = true;
        if (event.kind === 'end') said.ended = true;
        else if (said.stands || this.#standsApart(index)) yield* held.splice(0);
        this.#changed();
      }
      const equal = said.stands ? null : await this.#equalOf(index);
      const next = equal === null || attempt >= MOST_ATTEMPTS ? null : this.#otherBeginning(equal, taken);
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
    said.stands ||= said.calls || this.#said.slice(0, index).every((earlier) => isApart(said, earlier));
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
      const equal = earlier.find((one) => one.stands && one.ended && one.text === said.text);
      if (!unknown) return equal ?? null;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #otherBeginning({ tokens }: Said, taken: Set<string>): GeneratedToken[] | null {
    const { request, maxTokens } = this.#admitted;
    if (request.sampling.grammar !== null) return [];
    let best: { logprob: number; key: string; place: number; token: GeneratedToken } | null = null;
    let hash = 0;
    for (const [place, token] of tokens.slice(0, maxTokens).entries()) {
      for (const { id, logprob } of token.top) {
        // A hash will do: where two beginnings have the same, one is passed over.
        const key = `${place} ${hash} ${id}`;
        const isEmpty = place === 0 && request.model.endTokens.has(id);
        if (id === token.id || isEmpty || taken.has(key)) continue;
        if (best === null || logprob > best.logprob)
          best = { logprob, key, place, token: { id, logprob, top: token.top } };
      }
      hash = (Math.imul(hash, 31) + token.id) | 0;
    }
    if (best === null) return null;
    taken.add(best.key);
    return [...tokens.slice(0, best.place), best.token];
  }

  #changed(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}

function nothingSaid(): Said {
  return { text: '', tokens: [], ended: false, stands: false, calls: false };
}

/** Whether two choices can no longer become equal, whatever they go on with. */
function isApart(one: Said, earlier: Said): boolean {
  if (!earlier.stands) return false;
  if (earlier.calls) return true;
  if (one.text.length > earlier.text.length) return earlier.ended || !one.text.startsWith(earlier.text);
  if (!earlier.text.startsWith(one.text)) return true;
  return one.ended && one.text.length < earlier.text.length;
}

/** Alternatives that only the comparison needed are left out. */
function asAsked(event: TextEvent, topLogprobs: number | null): TextEvent {
  if (event.kind !== 'text') return event;
  if (topLogprobs === null) return { ...event, tokens: [] };
  return { ...event, tokens: event.tokens.map((token) => ({ ...token, top: token.top.slice(0, topLogprobs) })) };
}
