import { movingAverage } from '../../wire/movingAverage.ts';

/** What one step took, told by its stages when it came back. */
export interface StepMeasure {
  /** Rows: tokens over all runs. */
  rows: number;
  /** Of each stage, ms: time on the stage's thread, and waiting there. */
  stages: readonly { computeMs: number; queueMs: number }[];
  /** From sending to coming back. */
  ringMs: number;
  /** Of that on the way between processes, as links measure it; null where they do not know. */
  waysMs?: number | null;
}

interface RowCost {
  slowestMs: number;
  allMs: number;
  /** When it was measured last, counted in steps, and how often. */
  at: number;
  times: number;
}

/** Weight of the newest measure. */
const NEWEST = 0.2;
/** Larger steps say little about decoding. */
export const MOST_ROWS = 64;
/** How much of a step does not grow with its rows, where steps of one size only are known. */
const ASSUMED_FIXED_SHARE = 0.5;

/** The first measure of a size may have met a stage that was not warm. */
const ENOUGH = 3;
/** What was not measured for so many steps may have changed. */
const FORGOTTEN_STEPS = 2000;

/** What steps of a pipeline cost by their number of rows, as far as it was measured. Milliseconds. */
export class StepCosts {
  readonly #byRows = new Map<number, RowCost>();
  #networkMs = 0;
  #waysMs = 0;
  #steps = 0;

  observe({ rows, stages, ringMs, waysMs = null }: StepMeasure): void {
    if (rows < 1 || rows > MOST_ROWS || stages.length === 0) return;
    const allMs = stages.reduce((sum, { computeMs }) => sum + computeMs, 0);
    const slowestMs = Math.max(...stages.map(({ computeMs }) => computeMs));
    const waitedMs = stages.reduce((sum, { queueMs }) => sum + queueMs, 0);
    const networkMs = Math.max(0, ringMs - allMs - waitedMs);
    const known = this.#byRows.get(rows);
    this.#byRows.set(rows, {
      slowestMs: movingAverage(known?.slowestMs ?? null, slowestMs, NEWEST),
      allMs: movingAverage(known?.allMs ?? null, allMs, NEWEST),
      at: this.#steps,
      times: (known?.times ?? 0) + 1,
    });
    this.#networkMs = movingAverage(this.#steps === 0 ? null : this.#networkMs, networkMs, NEWEST);
    this.#waysMs = movingAverage(this.#steps === 0 ? null : this.#waysMs, Math.min(networkMs, waysMs ?? 0), NEWEST);
    this.#steps += 1;
  }

  /** Whether anything was measured. */
  get isKnown(): boolean {
    return this.#steps > 0;
  }

  /** Whether steps of just so many rows are measured well enough, and lately. */
  knows(rows: number): boolean {
    const known = this.#byRows.get(rows);
    return known !== undefined && known.times >= ENOUGH && this.#steps - known.at < FORGOTTEN_STEPS;
  }

  /** Of one traversal, between processes. */
  get networkMs(): number {
    return this.#networkMs;
  }

  /** Of one traversal on the way between processes, when processors are free for other steps; 0 where links do not know. */
  get waysMs(): number {
    return this.#waysMs;
  }

  /** Of the slowest stage, which bounds how many steps come through. */
  slowestMs(rows: number): number {
    return this.#at(rows, ({ slowestMs }) => slowestMs);
  }

  /** From sending a step to its return where nothing else is under way. */
  ringMs(rows: number): number {
    return this.#at(rows, ({ allMs }) => allMs) + this.#networkMs;
  }

  /** Between known sizes along a line; beyond them by the slope of the last two, or by an assumption where there is one only. */
  #at(rows: number, of: (cost: RowCost) => number): number {
    const known = [...this.#byRows.entries()].sort(([a], [b]) => a - b);
    const [first] = known;
    if (first === undefined) return 0;
    const exact = this.#byRows.get(rows);
    if (exact !== undefined) return of(exact);
    if (known.length === 1) {
      const fixed = of(first[1]) * ASSUMED_FIXED_SHARE;
      return fixed + ((of(first[1]) - fixed) * rows) / first[0];
    }
    const above = known.findIndex(([size]) => size > rows);
    const right = above < 0 ? known.length - 1 : Math.max(1, above);
    const [from, to] = [known[right - 1] ?? first, known[right] ?? first];
    const slope = Math.max(0, (of(to[1]) - of(from[1])) / (to[0] - from[0]));
    return Math.max(0, of(from[1]) + slope * (rows - from[0]));
  }
}
