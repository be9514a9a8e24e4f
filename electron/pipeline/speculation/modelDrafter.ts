import type { DraftModel } from '../../stage/engineClient.ts';
import type { Sampling } from '../../wire/generated/roomful/v1/ring.ts';
import { movingAverage } from '../../wire/movingAverage.ts';
import { plainSampling } from '../sampling/plainSampling.ts';
import { wireSampling } from '../sampling/wireSampling.ts';
import { commonLength } from '../scheduler/commonLength.ts';
import type { Drafter, ProposeRequest } from './speculation.ts';

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
/** Tokens that a slot may gain on the way to a draft; more are read in the background first, for the target need not wait for that. */
const MOST_GAINED = 16;
/** Read at once, so that the drafts of others come between. */
const READ_TOKENS = 64;

/** Drafts with a small model that keeps a slot for every sequence of a pipeline. One after the other. */
export class ModelDrafter implements Drafter {
  readonly #model: DraftModel;
  readonly #slots: DraftSlot[];
  readonly #sequenceLength: number;
  readonly #onProblem: (cause: unknown) => void;
  /** What sequences have asked last, until its turn comes. */
  readonly #asking = new Map<number, ProposeRequest>();
  /** What is to be read of sequences. */
  readonly #reading = new Map<number, readonly number[]>();
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

  /** Reads a log in the background, a part at a time, so that drafts can be made soon. */
  prepare(sequence: number, log: readonly number[]): void {
    const isReading = this.#reading.has(sequence);
    this.#reading.set(sequence, [...log]);
    if (!isReading) void this.#next(() => this.#read(sequence));
  }

  async propose(asked: ProposeRequest): Promise<readonly number[]> {
    const { sequence, log } = asked;
    const held = this.#slots.find((slot) => slot.sequence === sequence);
    if (this.#reading.has(sequence) || gained(held, log) > MOST_GAINED) {
      this.prepare(sequence, log);
      return [];
    }
    const request = { ...asked, log: [...log] };
    this.#asking.set(sequence, request);
    return this.#next(() => this.#propose(request));
  }

  forget(sequence: number): void {
    this.#asking.delete(sequence);
    this.#reading.delete(sequence);
    const held = this.#slots.find((slot) => slot.sequence === sequence);
    if (held !== undefined) held.sequence = null;
  }

  #next<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#turn.then(work);
    this.#turn = done;
    return done;
  }

  /** The slot of a sequence, or a free one; undefined where there is none, or nothing is to be done now. */
  #slotFor(sequence: number, length: number): DraftSlot | undefined {
    if (performance.now() < this.#restsUntil || length > this.#sequenceLength) return undefined;
    const held =
      this.#slots.find((slot) => slot.sequence === sequence) ?? this.#slots.find((slot) => slot.sequence === null);
    if (held !== undefined) held.sequence = sequence;
    return held;
  }

  async #read(sequence: number): Promise<void> {
    const log = this.#reading.get(sequence);
    const held = log === undefined ? undefined : this.#slotFor(sequence, log.length);
    if (log === undefined || held === undefined) {
      this.#reading.delete(sequence);
      return;
    }
    const start = commonLength(held.tokens, log);
    // The last token is read with the first draft.
    const part = log.slice(start, Math.min(start + READ_TOKENS, log.length - 1));
    if (part.length > 0)
      await this.#ask(held, { log: log.slice(0, start + part.length), start, count: 0, sampling: plain });
    const isDone = start + part.length >= (this.#reading.get(sequence)?.length ?? 0) - 1;
    if (isDone || part.length === 0) this.#reading.delete(sequence);
    else void this.#next(() => this.#read(sequence));
  }

  async #propose(asked: ProposeRequest): Promise<readonly number[]> {
    const { sequence, log, promptLength, count, sampling } = asked;
    // It has left, or has asked something else since.
    const isOutdated = this.#asking.get(sequence) !== asked;
    if (!isOutdated) this.#asking.delete(sequence);
    const held = isOutdated ? undefined : this.#slotFor(sequence, log.length + count);
    if (held === undefined) return [];
    const start = Math.min(commonLength(held.tokens, log), log.length - 1);
    const started = performance.now();
    const drafts = await this.#ask(held, {
      log,
      start,
      count,
      sampling: wireSampling({ ...sampling, topLogprobs: null }, promptLength),
    });
    if (drafts.length > 0) {
      this.#draftMs = movingAverage(this.#draftMs || null, (performance.now() - started) / drafts.length, NEWEST);
    }
    return drafts;
  }

  /** Asks the model about the end of a log; nothing where it fails, and then for a while. */
  async #ask(
    held: DraftSlot,
    { log, start, count, sampling }: { log: readonly number[]; start: number; count: number; sampling: Sampling },
  ): Promise<readonly number[]> {
    try {
      const tokens = Int32Array.from(log.slice(start));
      const drafts = [
        ...(await this.#model.draft({ slot: this.#slots.indexOf(held), start, tokens, count, sampling })),
      ];
      // The last one was sampled, but not computed.
      held.tokens = [...log, ...drafts.slice(0, -1)];
      return drafts;
    } catch (cause) {
      held.tokens = [];
      this.#restsUntil = performance.now() + REST_MS;
      this.#onProblem(cause);
      return [];
    }
  }
}

/** Where nothing is drawn. */
const plain = wireSampling({ ...plainSampling, seed: 0, choice: 0 }, 0);

function gained(held: DraftSlot | undefined, log: readonly number[]): number {
  return log.length - commonLength(held?.tokens ?? [], log);
}
