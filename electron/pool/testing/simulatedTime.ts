/** A clock that stands still until it is run, and chance that follows from a seed. */
export class SimulatedTime {
  /** ms. */
  now = 0;
  /** What is to come, by time; what is due at one time comes in the order in which it was asked for. */
  readonly #queue: { at: number; run: () => void }[] = [];
  #random: number;

  constructor(seed: number) {
    this.#random = seed;
  }

  after(ms: number, run: () => void): void {
    const entry = { at: this.now + ms, run };
    let low = 0;
    let high = this.#queue.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#queue[middle]?.at ?? 0) <= entry.at) low = middle + 1;
      else high = middle;
    }
    this.#queue.splice(low, 0, entry);
  }

  run(ms: number): void {
    const until = this.now + ms;
    for (let next = this.#queue[0]; next !== undefined && next.at <= until; next = this.#queue[0]) {
      this.#queue.shift();
      this.now = next.at;
      next.run();
    }
    this.now = until;
  }

  /** 0 to 1 (Mulberry32). */
  chance(): number {
    this.#random = (this.#random + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#random ^ (this.#random >>> 15), 1 | this.#random);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }
}
