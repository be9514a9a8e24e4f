import type { DraftModel } from '../stage/engineClient.ts';
import { movingAverage } from '../wire/movingAverage.ts';
import { commonLength } from './commonLength.ts';
import type { Drafter, ProposeRequest } from './speculation.ts';
import { wireSampling } from './wireSampling.ts';

interface DraftSlot {
  /** The sequence that has it, null for none. */
  sequence: number | null;
  /** Tokens whose KV it holds. */
  tokens: readonly number[];
}

/** Weight of the newest measure. */
const NEWEST = 0.2;
/** Nothing is drafted for so long after it could not be: tokens come without drafts meanwhile, and without waiting for them. */
const REST_MS = 10_000;
/** Tokens that a slot may gain beside its drafts for a measure to count: drafts of one step that were accepted. */
const MOST_GAINED = 16;

/** Drafts with a small model that keeps a slot for every sequence of a pipeline. One sequence after the other. */
export class ModelDrafter implements Drafter {
  readonly #model: DraftModel;
  readonly #slots: DraftSlot[];
  readonly #sequenceLength: number;
  readonly #onProblem: (cause: unknown) => void;
  /** Sequences that wait for their turn or have it. */
  readonly #asking = new Set<number>();
  #draftMs = 0;
  #restsUntil = 0;
  #turn: Promise<unknown> = Promise.resolve();

  /** `sequenceLength` tokens have room in a slot; `onProblem` hears why it drafted nothing. */
  constructor(
    model: DraftModel,
    options: { slots: number; sequenceLength: number; onProblem: (cause: unknown) => void },
  ) {
    this.#model = model;
    this.#slots = Array.from({ length: options.slots }, () => ({ sequence: null, tokens: [] }));
    this.#sequenceLength = options.sequenceLength;
    this.#onProblem = options.onProblem;
  }

  get draftMs(): number {
    return this.#draftMs;
  }

  propose(asked: ProposeRequest): Promise<readonly number[]> {
    const request = { ...asked, log: [...asked.log] };
    this.#asking.add(request.sequence);
    const proposing = this.#turn.then(() => this.#propose(request));
    this.#turn = proposing;
    return proposing;
  }

  forget(sequence: number): void {
    this.#asking.delete(sequence);
    const held = this.#slots.find((slot) => slot.sequence === sequence);
    if (held !== undefined) held.sequence = null;
  }

  async #propose({ sequence, log, promptLength, count, sampling }: ProposeRequest): Promise<readonly number[]> {
    const held =
      this.#slots.find((slot) => slot.sequence === sequence) ?? this.#slots.find((slot) => slot.sequence === null);
    const isGone = !this.#asking.delete(sequence);
    const rests = performance.now() < this.#restsUntil;
    if (isGone || rests || held === undefined || log.length + count > this.#sequenceLength) return [];
    held.sequence = sequence;
    const start = Math.min(commonLength(held.tokens, log), log.length - 1);
    const started = performance.now();
    try {
      const plain = wireSampling({ ...sampling, topLogprobs: null }, promptLength);
      const slot = this.#slots.indexOf(held);
      const drafts = [
        ...(await this.#model.draft({
          slot,
          start,
          tokens: Int32Array.from(log.slice(start)),
          count,
          sampling: plain,
        })),
      ];
      // The last one was sampled, but not computed.
      held.tokens = [...log, ...drafts.slice(0, -1)];
      if (drafts.length > 0) this.#measure((performance.now() - started) / drafts.length, log.length - start);
      return drafts;
    } catch (cause) {
      held.tokens = [];
      this.#restsUntil = performance.now() + REST_MS;
      this.#onProblem(cause);
      return [];
    }
  }

  /** A first draft, for which the prompt was computed, says nothing about the next. */
  #measure(ms: number, gained: number): void {
    if (gained > MOST_GAINED) return;
    this.#draftMs = movingAverage(this.#draftMs || null, ms, NEWEST);
  }
}
