/** Speed is that of the last so many ms. */
const WINDOW_MS = 8000;

/** How fast bytes arrive, from their number at points in time; the clock is the caller's. */
export class TransferRate {
  #samples: { at: number; bytes: number }[] = [];

  /** `bytes` are all that have arrived at `at` ms. A number that falls begins anew. */
  add(at: number, bytes: number): void {
    const last = this.#samples.at(-1);
    if (last !== undefined && bytes < last.bytes) this.#samples = [];
    this.#samples.push({ at, bytes });
    const from = at - WINDOW_MS;
    // One older sample stays, so that the window is covered.
    while ((this.#samples[1]?.at ?? at) <= from) this.#samples.shift();
  }

  bytesPerSecond(): number {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined || last.at <= first.at) return 0;
    return ((last.bytes - first.bytes) / (last.at - first.at)) * 1000;
  }

  /** Seconds until `total` has arrived; null while nothing moves or the total is not known. */
  secondsLeft(total: number | null): number | null {
    const rate = this.bytesPerSecond();
    const last = this.#samples.at(-1);
    if (total === null || rate <= 0 || last === undefined) return null;
    return Math.max(0, total - last.bytes) / rate;
  }
}
