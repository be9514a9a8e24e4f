import { movingAverage } from '../../wire/movingAverage.ts';
import { LoneTimes } from './loneTimes.ts';
import { waysWithin } from './waysWithin.ts';

/** What a pipeline has done and how it fares; counts since it was formed, milliseconds as moving averages. */
export interface PipelineNumbers {
  running: number;
  /** Requests that wait for a seat. */
  queued: number;
  slots: number;
  steps: number;
  requests: number;
  /** Tokens of prompts that are to be computed, counted when they get a seat, and those whose KV was there already. */
  promptTokens: number;
  cachedTokens: number;
  generatedTokens: number;
  draftedTokens: number;
  acceptedTokens: number;
  /** Frames to the first stage and from the last one, where that is another member's: bytes. */
  entryBytes: number;
  exitBytes: number;
  /** From sending a decode step to its return. */
  stepMs: number;
  /** From sending a chunk of a prompt to its return; 0 before there was one. */
  prefillMs: number;
  /** Of a decode step between processes. */
  networkMs: number;
  /** From the last stage back; null while it is not known. */
  exitMs: number | null;
  stages: StageNumbers[];
}

export interface StageNumbers {
  /** Of decode steps. */
  computeMs: number;
  /** Waiting in the stage for its turn. */
  queueMs: number;
  /** Sent to the next process, since the pipeline was formed. */
  sentBytes: number;
  /** A decode step comes from the process before it; null while that is not known. */
  wayMs: number | null;
  /** Computing one row that travelled with no other work in the pipeline, the median; null before there were enough of them. */
  loneMs: number | null;
}

/** What one stage did for one step. */
type StageStep = Omit<StageNumbers, 'loneMs'>;

type Counts = Pick<
  PipelineNumbers,
  | 'requests'
  | 'promptTokens'
  | 'cachedTokens'
  | 'generatedTokens'
  | 'draftedTokens'
  | 'acceptedTokens'
  | 'entryBytes'
  | 'exitBytes'
>;

/** Weight of the newest step in an average. */
const NEWEST = 0.1;

/** Keeps a PipelineNumbers up to date. */
export class PipelineCounter {
  #counts: Counts = {
    requests: 0,
    promptTokens: 0,
    cachedTokens: 0,
    generatedTokens: 0,
    draftedTokens: 0,
    acceptedTokens: 0,
    entryBytes: 0,
    exitBytes: 0,
  };
  readonly #stages: (StageStep & { lone: LoneTimes })[];
  #steps = 0;
  #stepMs: number | null = null;
  #prefillMs: number | null = null;

  constructor(stages: number) {
    this.#stages = Array.from({ length: stages }, () => ({
      ...{ computeMs: 0, queueMs: 0, sentBytes: 0, wayMs: null },
      lone: new LoneTimes(),
    }));
  }

  add(counts: Partial<Counts>): void {
    const now = this.#counts;
    this.#counts = {
      requests: now.requests + (counts.requests ?? 0),
      promptTokens: now.promptTokens + (counts.promptTokens ?? 0),
      cachedTokens: now.cachedTokens + (counts.cachedTokens ?? 0),
      generatedTokens: now.generatedTokens + (counts.generatedTokens ?? 0),
      draftedTokens: now.draftedTokens + (counts.draftedTokens ?? 0),
      acceptedTokens: now.acceptedTokens + (counts.acceptedTokens ?? 0),
      entryBytes: now.entryBytes + (counts.entryBytes ?? 0),
      exitBytes: now.exitBytes + (counts.exitBytes ?? 0),
    };
  }

  /** A chunk of a prompt has come back so many ms after it was sent. */
  prefilled(ms: number): void {
    this.#prefillMs = movingAverage(this.#prefillMs, ms, NEWEST);
  }

  /**
   * A step has come back; `decodeMs` is what it took from sending to its return, null for one that prefilled. `alone` says
   * that it was one row and that nothing else was under way.
   */
  step(stages: readonly (StageStep & { stage: number })[], decodeMs: number | null, alone = false): void {
    this.#steps += 1;
    if (decodeMs !== null) this.#stepMs = movingAverage(this.#stepMs, decodeMs, NEWEST);
    for (const { stage, computeMs, queueMs, sentBytes, wayMs } of stages) {
      const known = this.#stages[stage];
      if (known === undefined) continue;
      known.sentBytes += sentBytes;
      known.wayMs = wayMs ?? known.wayMs;
      if (alone) known.lone.add(computeMs);
      if (decodeMs === null) continue;
      known.computeMs = movingAverage(known.computeMs || null, computeMs, NEWEST);
      known.queueMs = movingAverage(known.queueMs || null, queueMs, NEWEST);
    }
  }

  numbers(now: Pick<PipelineNumbers, 'running' | 'queued' | 'slots' | 'networkMs' | 'exitMs'>): PipelineNumbers {
    const ways = waysWithin([...this.#stages.map(({ wayMs }) => wayMs), now.exitMs], now.networkMs);
    const stages = this.#stages.map(({ lone, ...stage }, index) => {
      return { ...stage, wayMs: ways[index] ?? null, loneMs: lone.ms };
    });
    const exitMs = ways.at(-1) ?? null;
    const times = { stepMs: this.#stepMs ?? 0, prefillMs: this.#prefillMs ?? 0, exitMs };
    return { ...now, ...this.#counts, steps: this.#steps, ...times, stages };
  }
}
