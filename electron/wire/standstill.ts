const LOOK_MS = 500;
/** Longer than anybody waits for a connection, ms. */
const STILL_MS = 5000;
/** In this time after a standstill what had queued up is handed over, ms. */
const BACKLOG_MS = 300;

/**
 * Tells what had queued up while this process stood still, asleep or stopped: whoever knocked then has given up long ago, and
 * to answer hundreds of them would keep out those that knock now.
 */
export class Standstill {
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  #seenAt: number;
  #backlogUntil = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#seenAt = now();
    this.#timer = setInterval(() => this.hasJustEnded(), LOOK_MS).unref();
  }

  /** Whether this process has gone on only a moment ago. */
  hasJustEnded(): boolean {
    const now = this.#now();
    if (now - this.#seenAt > STILL_MS) this.#backlogUntil = now + BACKLOG_MS;
    this.#seenAt = now;
    return now < this.#backlogUntil;
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
