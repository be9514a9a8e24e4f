import type { GeneratedToken, GenerateRequest } from '../serving/servedModel.ts';
import { Acceptance } from '../speculation/acceptance.ts';
import { Guesses, type Judged } from '../speculation/guesses.ts';
import type { Seat } from './seatTable.ts';
import type { ScheduledSequence } from './stepScheduler.ts';
import type { TextVector } from './textVector.ts';

/** One request on its way: its token log, its seat, and the committed tokens that its reader has not taken yet. */
export class Sequence implements ScheduledSequence {
  readonly id: number;
  readonly request: GenerateRequest;
  /** The prompt and every committed token. */
  readonly log: number[];
  seat: Seat | null = null;
  sent = 0;
  /** Where the KV of every stage is to be cut with the next run; null where nothing lies beyond. */
  truncateTo: number | null = null;
  lastStep = -1;
  /** Nothing of it has been sent from this seat: what it goes on from is still open. */
  isFresh = true;
  /** Whether it was said how much of its prompt is not computed again. */
  toldBegin = false;
  /** Whose prompt it has in common, and so much of it that it waits until that has been sent. */
  awaits: { readonly holder: Sequence; readonly length: number } | null = null;
  /** Whether the last stage has been told how to sample. */
  toldHow = false;
  readonly guesses = new Guesses();
  readonly acceptance = new Acceptance();
  /** What is wanted in place of an answer; null where it generates. */
  readonly vector: TextVector | null;
  readonly #answer: GeneratedToken[] = [];
  #read = 0;
  #ended = false;
  #error: Error | null = null;
  #wake: (() => void) | null = null;

  constructor(id: number, request: GenerateRequest, vector: TextVector | null = null) {
    this.id = id;
    this.request = request;
    this.vector = vector;
    this.log = [...request.promptTokens];
  }

  get slot(): number {
    return this.seat?.slot ?? -1;
  }

  get length(): number {
    return this.log.length;
  }

  get promptLength(): number {
    return this.request.promptTokens.length;
  }

  get generated(): number {
    return this.log.length - this.promptLength;
  }

  get bulk(): boolean {
    return this.request.bulk ?? false;
  }

  get drafting(): boolean {
    return this.guesses.areMade;
  }

  /** Guesses that may travel on top of those that are being verified. */
  get ahead(): number {
    return this.guesses.steps > 0 ? this.guesses.next.length : 0;
  }

  /** Whether what it waits for may still come. */
  get waits(): boolean {
    return this.awaits !== null && !this.awaits.holder.hasEnded && this.awaits.holder.sent < this.awaits.length;
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  /** Tokens of the log whose KV every stage holds, or will before anything that is sent from now on. */
  get certain(): number {
    return Math.min(this.sent, this.log.length);
  }

  /** Takes a seat, and goes on from what lies there. */
  begin(seat: Seat): void {
    this.seat = seat;
    this.isFresh = true;
    this.awaits = null;
    this.sent = seat.kept;
    this.truncateTo = seat.used ? seat.kept : null;
    this.toldHow = false;
    this.guesses.clear();
  }

  /** Goes on from so many tokens that are copied into its seat, in place of what lies there. */
  goOnFromCopy(length: number): void {
    this.sent = length;
    this.truncateTo = null;
  }

  /** The log and the guesses under way: what every stage will have been sent. */
  get believed(): readonly number[] {
    const { underWay } = this.guesses;
    return underWay.length === 0 ? this.log : [...this.log, ...underWay];
  }

  /**
   * Takes what a step says of the tokens from `position` on, before they are committed: where a guess was wrong the next run cuts
   * the KV of every stage behind the last right one. Gives what it judged.
   */
  judge(position: number, tokens: readonly number[]): Judged {
    const judged = this.guesses.judge(tokens);
    if (judged.accepted < judged.judged) {
      this.sent = position + judged.accepted;
      this.truncateTo = this.sent;
    }
    if (judged.judged > 0) this.acceptance.observe(judged.judged, judged.accepted);
    return judged;
  }

  /** Appends the token for `position`; false when the log has moved on, so that a token is committed once. */
  commit(position: number, token: GeneratedToken): boolean {
    if (this.#ended || position !== this.log.length) return false;
    this.log.push(token.id);
    this.#answer.push(token);
    this.#notify();
    return true;
  }

  /** No more tokens will come; with an error the reader gets it after the tokens that were committed. */
  end(error: Error | null = null): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#notify();
  }

  /** The next committed token, or null at the end; rejects with the error that ended the sequence. */
  async next(): Promise<GeneratedToken | null> {
    for (;;) {
      const token = this.#answer[this.#read];
      if (token !== undefined) {
        this.#read += 1;
        return token;
      }
      if (this.#error !== null) throw this.#error;
      if (this.#ended) return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}
