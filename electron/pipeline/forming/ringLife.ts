/** A step that was under way for longer says little of how a stage fares now, ms. */
const FRESH_MS = 1000;

/**
 * Whom the steps of a ring show to live: one that comes back has passed every stage since it was sent, and was sent on by
 * the last one just now. Steps go round in order.
 */
export class RingLife {
  readonly #members: readonly string[];
  readonly #onAlive: (member: string) => void;
  readonly #now: () => number;
  readonly #sentAt = new Map<number, number>();

  /** `members` hold the stages, in order. */
  constructor(
    members: readonly string[],
    onAlive: (member: string) => void,
    now: () => number = () => performance.now(),
  ) {
    this.#members = members;
    this.#onAlive = onAlive;
    this.#now = now;
  }

  sent(step: number): void {
    this.#sentAt.set(step, this.#now());
  }

  cameBack(step: number): void {
    const sentAt = this.#sentAt.get(step) ?? Number.NEGATIVE_INFINITY;
    // One that was dropped on the way stays out for good.
    for (const earlier of this.#sentAt.keys()) {
      if (earlier > step) break;
      this.#sentAt.delete(earlier);
    }
    const shown = this.#now() - sentAt < FRESH_MS ? this.#members : this.#members.slice(-1);
    for (const member of shown) this.#onAlive(member);
  }
}
