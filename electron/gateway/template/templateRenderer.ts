import type { HostLauncher } from '../../stage/hostLauncher.ts';
import { TemplateFailure } from './templateFailure.ts';
import { type RendererLimits, TemplateQueue } from './templateQueue.ts';

const LIMITS: RendererLimits = { startMs: 60_000, timeMs: 10_000, longest: 32 * 1024 * 1024 };
/** Templates whose processes are kept for their next text. */
const MOST_IDLE = 2;

/**
 * Renders chat templates in processes, one for each template: a template that never ends, or eats memory, keeps nobody waiting
 * but those who ask for its model, and is ended at its limit. A thread would not do: V8 ends the whole process with it.
 */
export class TemplateRenderer {
  readonly #launcher: HostLauncher;
  readonly #limits: RendererLimits;
  /** Those used last come last. */
  readonly #queues = new Map<string, TemplateQueue>();
  #closed = false;

  constructor(launcher: HostLauncher, limits: Partial<RendererLimits> = {}) {
    this.#launcher = launcher;
    this.#limits = { ...LIMITS, ...limits };
  }

  /** The text of a template for these values, which are JSON. Rejects with a TemplateFailure. */
  render(source: string, values: Record<string, unknown>): Promise<string> {
    if (this.#closed) return Promise.reject(new TemplateFailure('runaway', 'the gateway is closing'));
    const text = this.#queueOf(source).render(values);
    this.#endIdle();
    return text;
  }

  /** Starts the process of a template that will be wanted, where there is room for one that is idle. */
  prepare(source: string): void {
    if (this.#closed || this.#queues.size >= MOST_IDLE || this.#queues.has(source)) return;
    this.#queueOf(source).begin();
  }

  /** Ends the processes; what waits rejects. */
  close(): void {
    this.#closed = true;
    for (const queue of this.#queues.values()) queue.close();
    this.#queues.clear();
  }

  #queueOf(source: string): TemplateQueue {
    const queue = this.#queues.get(source) ?? new TemplateQueue(source, this.#launcher, this.#limits);
    this.#queues.delete(source);
    this.#queues.set(source, queue);
    return queue;
  }

  #endIdle(): void {
    const idle = [...this.#queues].filter(([, each]) => each.idle);
    for (const [name, each] of idle.slice(0, Math.max(0, this.#queues.size - MOST_IDLE))) {
      this.#queues.delete(name);
      each.close();
    }
  }
}
