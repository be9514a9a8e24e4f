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

/** Hashes parts of files in a thread of its own, which starts when it is needed, so that no event loop waits. */
export class FileHasher {
  readonly #waiting = new Map<number, { resolve: (answer: HashAnswer) => void; reject: (cause: Error) => void }>();
  #worker: Worker | null = null;
  #jobs = 0;

  /**
   * SHA-256 in hex of `bytes` bytes from `at` on. `step` is asked before every few MiB, and what it resolves to is called
   * after them. Rejects where the file cannot be read so far, and with the signal's reason.
   */
  async hash(
    path: string,
    range: { at: number; bytes: number },
    options: { signal?: AbortSignal | undefined; step?: () => Promise<() => void> } = {},
  ): Promise<string> {
    const id = ++this.#jobs;
    for (let done = 0; ; ) {
      options.signal?.throwIfAborted();
      const bytes = Math.min(PIECE_BYTES, range.bytes - done);
      const end = await options.step?.();
      try {
        const isLast = done + bytes === range.bytes;
        const { sha256 } = await this.#ask({ id, path, at: range.at + done, bytes, isLast });
        if (sha256 !== null) return sha256;
      } finally {
        end?.();
      }
      done += bytes;
    }
  }

  /** Ends the thread; what waits rejects. */
  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  async #ask(piece: HashPiece): Promise<HashAnswer> {
    const worker = this.#worker ?? this.#start();
    const answer = await new Promise<HashAnswer>((resolve, reject) => {
      this.#waiting.set(piece.id, { resolve, reject });
      worker.postMessage(piece);
    });
    if (answer.problem !== null) throw new Error(answer.problem);
    return answer;
  }

  #start(): Worker {
    const worker = new Worker(workerEntry(), { execArgv: [] });
    // It does not keep the process up; what waits for it does so by itself.
    worker.unref();
    worker.on('message', (answer: HashAnswer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      waiting?.resolve(answer);
    });
    const lose = (cause: Error): void => {
      if (this.#worker === worker) this.#worker = null;
      for (const { reject } of this.#waiting.values()) reject(cause);
      this.#waiting.clear();
    };
    worker.on('error', lose);
    worker.on('exit', () => lose(new Error('The thread that hashes has ended.')));
    this.#worker = worker;
    return worker;
  }
}

/** The compiled entry of the thread, also for a member that runs from the sources, as tests do. */
function workerEntry(): string {
  const here = import.meta.url;
  const folder = here.endsWith('.ts') ? '../../../dist/electron/library/slices' : '.';
  return fileURLToPath(new URL(`${folder}/hashWorker.js`, here));
}
