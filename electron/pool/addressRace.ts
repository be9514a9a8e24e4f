import type { Clock } from './clock.ts';
import { type Candidate, MEDIA } from './discovery/candidate.ts';

/** A dial that reached the peer. */
export interface RaceWinner<Connection> {
  candidate: Candidate;
  connection: Connection;
}

export interface RaceOptions<Connection> {
  /** Best first, see rankCandidates. */
  candidates: readonly Candidate[];
  /** Resolves when the right peer answered. `signal` says that it is no longer wanted. */
  dial: (candidate: Candidate, signal: AbortSignal) => Promise<Connection>;
  /** Given what was reached but is not needed. */
  discard: (connection: Connection) => void;
  clock: Clock;
  /** Gives up. */
  signal?: AbortSignal;
}

/** Head start of each candidate on the next, ms (RFC 8305 has 250 for the Internet; on a LAN an answer takes 10). */
export const STAGGER_MS = 100;

/** How long an answer waits for one by a better medium that is being dialled, ms. */
export const HOLD_MS = 300;

/** None of a member's addresses answered; the message has one reason for each. */
export class NoAddressAnswered extends Error {
  readonly reasons: ReadonlyMap<string, unknown>;

  constructor(reasons: ReadonlyMap<string, unknown>) {
    const listed = [...reasons].map(([address, why]) => `${address} (${why instanceof Error ? why.message : why})`);
    super(listed.length === 0 ? 'No address is known.' : `No address answered: ${listed.join('; ')}`);
    this.name = 'NoAddressAnswered';
    this.reasons = reasons;
  }
}

/**
 * Dials the candidates, each a little after the one before or at once when that failed, and answers the first that is
 * reached (happy eyeballs, RFC 8305). One of a better medium that is still being dialled gets a moment more. The others
 * are given up. Throws NoAddressAnswered, or the reason of `signal`.
 */
export function raceAddresses<Connection>(options: RaceOptions<Connection>): Promise<RaceWinner<Connection>> {
  return new Promise((resolve, reject) => new Race(options, resolve, reject).start());
}

class Race<Connection> {
  readonly #options: RaceOptions<Connection>;
  readonly #resolve: (winner: RaceWinner<Connection>) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #reasons = new Map<string, unknown>();
  readonly #dialling = new Map<Candidate, AbortController>();
  #started = 0;
  #best: RaceWinner<Connection> | null = null;
  #over = false;
  #cancelNext = (): void => {};
  #cancelHold = (): void => {};

  constructor(
    options: RaceOptions<Connection>,
    resolve: (winner: RaceWinner<Connection>) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { signal } = this.#options;
    signal?.addEventListener('abort', this.#giveUp, { once: true });
    if (signal?.aborted) this.#giveUp();
    this.#startNext();
    this.#decide();
  }

  #startNext(): void {
    this.#cancelNext();
    const { candidates, dial, clock } = this.#options;
    const candidate = candidates[this.#started];
    if (this.#over || this.#best !== null || candidate === undefined) return;
    this.#started += 1;
    const controller = new AbortController();
    this.#dialling.set(candidate, controller);
    this.#cancelNext = clock.after(STAGGER_MS, () => this.#startNext());
    dial(candidate, controller.signal).then(
      (connection) => this.#reached({ candidate, connection }),
      (why: unknown) => this.#failed(candidate, why),
    );
  }

  #failed(candidate: Candidate, why: unknown): void {
    this.#dialling.delete(candidate);
    this.#reasons.set(candidate.address, why);
    this.#startNext();
    this.#decide();
  }

  #reached(winner: RaceWinner<Connection>): void {
    this.#dialling.delete(winner.candidate);
    const needed = !this.#over && (this.#best === null || isFaster(winner.candidate, this.#best.candidate));
    if (!needed) {
      this.#options.discard(winner.connection);
      return;
    }
    if (this.#best !== null) this.#options.discard(this.#best.connection);
    else this.#cancelHold = this.#options.clock.after(HOLD_MS, () => this.#win());
    this.#best = winner;
    this.#decide();
  }

  /** Ends the race when nothing better can come. */
  #decide(): void {
    const best = this.#best;
    if (best !== null) {
      if (![...this.#dialling.keys()].some((other) => isFaster(other, best.candidate))) this.#win();
    } else if (this.#dialling.size === 0 && this.#started === this.#options.candidates.length) {
      this.#finish(() => this.#reject(new NoAddressAnswered(this.#reasons)));
    }
  }

  #win(): void {
    const best = this.#best;
    if (best !== null) this.#finish(() => this.#resolve(best));
  }

  readonly #giveUp = (): void => {
    this.#finish(() => {
      if (this.#best !== null) this.#options.discard(this.#best.connection);
      this.#reject(this.#options.signal?.reason);
    });
  };

  #finish(end: () => void): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelNext();
    this.#cancelHold();
    this.#options.signal?.removeEventListener('abort', this.#giveUp);
    for (const controller of this.#dialling.values()) controller.abort();
    end();
  }
}

/** Whether one is reached by a better medium than the other. */
export function isFaster(one: Candidate, other: Candidate): boolean {
  return MEDIA.indexOf(one.medium) < MEDIA.indexOf(other.medium);
}
