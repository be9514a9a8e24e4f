import type { ModelHashes } from './modelHashes.ts';

/** Of one core, while nobody waits. */
const BACKGROUND_SHARE = 0.3;
/** Of one core, while somebody does. */
const URGENT_SHARE = 0.9;

export interface HashRun {
  signal: AbortSignal;
  /** Asked for before every rest, as it may rise. */
  share: () => number;
}

interface Job {
  urgent: boolean;
  readonly stop: AbortController;
  readonly done: Promise<ModelHashes>;
}

/** Hashes models in the background, one at a time and slowly; those that somebody waits for at once. */
export class HashQueue {
  readonly #run: (id: string, run: HashRun) => Promise<ModelHashes>;
  readonly #waiting = new Set<string>();
  readonly #jobs = new Map<string, Job>();
  #background: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(run: (id: string, run: HashRun) => Promise<ModelHashes>) {
    this.#run = run;
  }

  /** Some time. Its outcome is told by `run` alone. */
  later(id: string): void {
    if (this.#closed || this.#waiting.has(id) || this.#jobs.has(id)) return;
    this.#waiting.add(id);
    this.#background = this.#background.then(async () => {
      if (this.#waiting.has(id)) await this.#start(id, false).done.catch(() => {});
    });
  }

  /** Now. The signal ends the wait, not the work. */
  now(id: string, signal?: AbortSignal): Promise<ModelHashes> {
    const job = this.#jobs.get(id) ?? this.#start(id, true);
    job.urgent = true;
    return signal === undefined ? job.done : orAborted(job.done, signal);
  }

  /** Forgets a model; a run that is on its way ends. */
  drop(id: string): void {
    this.#waiting.delete(id);
    this.#jobs.get(id)?.stop.abort(new Error('The model has left the library.'));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#waiting.clear();
    const jobs = [...this.#jobs.values()];
    for (const { stop } of jobs) stop.abort(new Error('The member is closing.'));
    await Promise.allSettled(jobs.map(({ done }) => done));
  }

  #start(id: string, urgent: boolean): Job {
    this.#waiting.delete(id);
    const stop = new AbortController();
    if (this.#closed) stop.abort(new Error('The member is closing.'));
    const share = (): number => (job.urgent ? URGENT_SHARE : BACKGROUND_SHARE);
    const done = this.#run(id, { signal: stop.signal, share }).finally(() => this.#jobs.delete(id));
    const job: Job = { urgent, stop, done };
    // Whoever waits hears of it; where nobody does, the library shows what is wrong.
    done.catch(() => {});
    this.#jobs.set(id, job);
    return job;
  }
}

async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
