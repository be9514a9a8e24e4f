import { median } from './median.ts';

/** Fewer say nothing yet. */
export const LEAST_LONE = 20;
/** So many of the latest count: what a machine does now, not what it did when it was cold. */
const MOST_LONE = 64;

/** What a stage takes for one row while its pipeline does nothing else: the median of the latest steps, which no hiccup moves. */
export class LoneTimes {
  readonly #latest: number[] = [];

  add(ms: number): void {
    this.#latest.push(ms);
    if (this.#latest.length > MOST_LONE) this.#latest.shift();
  }

  /** Milliseconds; null before there were enough steps. */
  get ms(): number | null {
    return this.#latest.length < LEAST_LONE ? null : median(this.#latest);
  }
}
