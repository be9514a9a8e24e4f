import type { PipelineNumbers } from './pipelineNumbers.ts';
import type { PipelineFigures } from './pipelineReport.ts';

/** A look at a pipeline that is to be shown; only tokens of an interval of this many ms make a rate. */
const LEAST_MS = 200;

/** What of a pipeline's numbers is shown to every member: looked at now and then, so that it does not change with every token. */
export class FiguresView {
  #figures: PipelineFigures | null = null;
  #last: { at: number; generated: number } | null = null;

  /** As of the last look; null before the first. */
  get figures(): PipelineFigures | null {
    return this.#figures;
  }

  /** Looks again at `now`, ms; true where something has changed. */
  look(numbers: PipelineNumbers, now: number): boolean {
    const { generatedTokens: generated } = numbers;
    const last = this.#last ?? { at: now, generated };
    const elapsed = now - last.at;
    if (this.#last !== null && elapsed < LEAST_MS) return false;
    this.#last = { at: now, generated };
    const tokensPerSecond = elapsed === 0 ? 0 : ((generated - last.generated) * 1000) / elapsed;
    const figures = figuresOf(numbers, tokensPerSecond);
    if (JSON.stringify(figures) === JSON.stringify(this.#figures)) return false;
    this.#figures = figures;
    return true;
  }
}

function figuresOf(numbers: PipelineNumbers, tokensPerSecond: number): PipelineFigures {
  const { stages, exitMs, entryBytes, exitBytes, slots: _, prefillMs: __, stepMs, networkMs, ...counts } = numbers;
  const [first, ...later] = stages;
  return {
    ...counts,
    tokensPerSecond: rounded(tokensPerSecond),
    stepMs: rounded(stepMs),
    networkMs: rounded(networkMs),
    stages: stages.map(({ computeMs, queueMs, loneMs }) => {
      return { computeMs: rounded(computeMs), queueMs: rounded(queueMs), loneMs: known(loneMs) };
    }),
    entry: { ms: known(first?.wayMs ?? null), bytes: entryBytes },
    hops: later.map(({ wayMs }, index) => ({ ms: known(wayMs), bytes: stages[index]?.sentBytes ?? 0 })),
    exit: { ms: known(exitMs), bytes: exitBytes },
  };
}

function known(ms: number | null): number | null {
  return ms === null ? null : rounded(ms);
}

/** Microseconds are enough, and more would change all the time. */
function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
