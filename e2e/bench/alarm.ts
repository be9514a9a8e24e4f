import { Worker } from 'node:worker_threads';

/** Sleeps until the time that lies in shared memory, says so, and sleeps on until there is another. Its sleep is exact. */
const SLEEPER = `
const { parentPort, workerData: { state, time } } = require('node:worker_threads');
const version = new Int32Array(state), due = new Float64Array(time);
for (;;) {
  const seen = Atomics.load(version, 0);
  if (seen < 0) break;
  const wait = due[0] - (performance.timeOrigin + performance.now());
  if (wait > 0) { Atomics.wait(version, 0, seen, wait); continue; }
  if (due[0] > 0) parentPort.postMessage(null);
  Atomics.wait(version, 0, seen);
}`;

/** A timer that is exact to some tens of microseconds and takes no processor while it waits: Node's own knows whole ms only. */
export class Alarm {
  readonly #version = new Int32Array(new SharedArrayBuffer(4));
  readonly #due = new Float64Array(new SharedArrayBuffer(8));
  readonly #worker: Worker;
  readonly #onDue: () => void;
  #at = Number.POSITIVE_INFINITY;

  /** `onDue` is called once for each time that was set and came. */
  constructor(onDue: () => void) {
    this.#onDue = onDue;
    const workerData = { state: this.#version.buffer, time: this.#due.buffer };
    this.#worker = new Worker(SLEEPER, { eval: true, workerData });
    this.#worker.on('message', () => {
      this.#at = Number.POSITIVE_INFINITY;
      this.#onDue();
    });
    this.#worker.unref();
  }

  /** Rings at `at`, as `performance.now()` has it; an earlier time that was set before stays. */
  set(at: number): void {
    if (at >= this.#at) return;
    this.#at = at;
    this.#due[0] = performance.timeOrigin + at;
    Atomics.add(this.#version, 0, 1);
    Atomics.notify(this.#version, 0);
  }

  async close(): Promise<void> {
    Atomics.store(this.#version, 0, -1);
    Atomics.notify(this.#version, 0);
    await this.#worker.terminate();
  }
}
