import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

/** Some bytes of a file, for a hash that goes on until the last piece. */
export interface HashPiece {
  id: number;
  path: string;
  at: number;
  bytes: number;
  isLast: boolean;
}

export interface HashAnswer {
  id: number;
  /** Of all pieces, after the last one. */
  sha256: string | null;
  problem: string | null;
}

/** Bytes that the thread reads between two steps. */
const PIECE_BYTES = 4 << 20;

interface Waiting {
  worker: Worker;
  resolve: (answer: HashAnswer) => void;
  reject: (cause: Error) => void;
}

/** Hashes parts of files in threads of their own, which start when they are needed, so that no event loop waits. */
export class FileHasher {
  /** Parts that are hashed at the same time. */
  readonly threads: number;
  readonly #waiting = new Map<number, Waiting>();
  readonly #workers = new Map<number, Worker>();
  #jobs = 0;

  constructor(threads = 1) {
    this.threads = threads;
  }

  /**
   * SHA-256 in hex of `bytes` bytes from `at` on. `step` is asked before every few MiB, and what it resolves to is called
   * after them; `onBytes` hears of each piece. Rejects where the file cannot be read so far, and with the signal's reason.
   */
  async hash(
    path: string,
    range: { at: number; bytes: number },
    options: {
      signal?: AbortSignal | undefined;
      step?: () => Promise<() => void>;
      onBytes?: (bytes: number) => void;
    } = {},
  ): Promise<string> {
    const id = ++this.#jobs;
    for (let done = 0; ; ) {
      options.signal?.throwIfAborted();
      const bytes = Math.min(PIECE_BYTES, range.bytes - done);
      const end = await options.step?.();
      try {
        const isLast = done + bytes === range.bytes;
        const { sha256 } = await this.#ask({ id, path, at: range.at + done, bytes, isLast });
        options.onBytes?.(bytes);
        if (sha256 !== null) return sha256;
      } finally {
        end?.();
      }
      done += bytes;
    }
  }

  /** Ends the threads; what waits rejects. */
  async close(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.terminate()));
  }

  async #ask(piece: HashPiece): Promise<HashAnswer> {
    // All pieces of a part in one thread.
    const thread = piece.id % this.threads;
    const worker = this.#workers.get(thread) ?? this.#start(thread);
    const answer = await new Promise<HashAnswer>((resolve, reject) => {
      this.#waiting.set(piece.id, { worker, resolve, reject });
      worker.postMessage(piece);
    });
    if (answer.problem !== null) throw new Error(answer.problem);
    return answer;
  }

  #start(thread: number): Worker {
    const worker = new Worker(workerEntry(), { execArgv: [] });
    // It does not keep the process up; what waits for it does so by itself.
    worker.unref();
    worker.on('message', (answer: HashAnswer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      waiting?.resolve(answer);
    });
    const lose = (cause: Error): void => {
      if (this.#workers.get(thread) === worker) this.#workers.delete(thread);
      for (const [id, waiting] of this.#waiting) {
        if (waiting.worker !== worker) continue;
        this.#waiting.delete(id);
        waiting.reject(cause);
      }
    };
    worker.on('error', lose);
    worker.on('exit', () => lose(new Error('The thread that hashes has ended.')));
    this.#workers.set(thread, worker);
    return worker;
  }
}

/** The compiled entry of the thread, also for a member that runs from the sources, as tests do. */
function workerEntry(): string {
  const here = import.meta.url;
  const folder = here.endsWith('.ts') ? '../../../dist/electron/library/slices' : '.';
  return fileURLToPath(new URL(`${folder}/hashWorker.js`, here));
}
