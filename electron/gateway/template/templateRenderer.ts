import { z } from 'zod';
import type { HostChild, HostLauncher } from '../../stage/hostLauncher.ts';
import type { RenderAnswer, RenderOrder } from '../../stage/templateThread.ts';

/** Why a template gave no text. */
export class TemplateFailure extends Error {
  /** `broken`: it cannot be read. `refused`: its own error over these values. `runaway`: it took too long or too much. */
  readonly kind: 'broken' | 'refused' | 'runaway';

  constructor(kind: TemplateFailure['kind'], reason: string) {
    super(reason);
    this.name = 'TemplateFailure';
    this.kind = kind;
  }
}

export interface RendererLimits {
  /** For one text, the start of its process included. */
  timeMs: number;
  /** UTF-16 units of a text. */
  longest: number;
}

const LIMITS: RendererLimits = { timeMs: 10_000, longest: 32 * 1024 * 1024 };
/** Templates whose processes are kept for their next text. */
const MOST_IDLE = 2;

const renderAnswer: z.ZodType<RenderAnswer> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('text'), text: z.string() }),
  z.strictObject({ kind: z.literal('broken'), reason: z.string() }),
  z.strictObject({ kind: z.literal('refused'), reason: z.string() }),
]);

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

  /** The text of a template for these values. Rejects with a TemplateFailure. */
  render(source: string, values: Record<string, unknown>): Promise<string> {
    if (this.#closed) return Promise.reject(new TemplateFailure('runaway', 'the gateway is closing'));
    const queue = this.#queues.get(source) ?? new TemplateQueue(source, this.#launcher, this.#limits);
    this.#queues.delete(source);
    this.#queues.set(source, queue);
    const text = queue.render(values);
    const idle = [...this.#queues].filter(([, each]) => each.idle);
    for (const [name, each] of idle.slice(0, Math.max(0, this.#queues.size - MOST_IDLE))) {
      this.#queues.delete(name);
      each.close();
    }
    return text;
  }

  /** Ends the processes; what waits rejects. */
  close(): void {
    this.#closed = true;
    for (const queue of this.#queues.values()) queue.close();
    this.#queues.clear();
  }
}

/** One template's process, and its texts one after the other. */
class TemplateQueue {
  readonly #source: string;
  readonly #launcher: HostLauncher;
  readonly #limits: RendererLimits;
  #process: RenderProcess | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(source: string, launcher: HostLauncher, limits: RendererLimits) {
    this.#source = source;
    this.#launcher = launcher;
    this.#limits = limits;
  }

  get idle(): boolean {
    return this.#waiting === 0;
  }

  async render(values: Record<string, unknown>): Promise<string> {
    this.#waiting += 1;
    const turn = this.#last;
    const over = new Pending<void>();
    this.#last = over.promise;
    try {
      await turn;
      if (this.#process === null || this.#process.gone)
        this.#process = new RenderProcess(this.#launcher, this.#limits.timeMs);
      const answer = await this.#process.ask({ source: this.#source, values, longest: this.#limits.longest });
      if (answer.kind === 'text') return answer.text;
      throw new TemplateFailure(answer.kind, answer.reason);
    } finally {
      this.#waiting -= 1;
      over.resolve();
    }
  }

  close(): void {
    this.#process?.end('the gateway is closing');
  }
}

/** A promise that is settled from outside. */
class Pending<T> {
  resolve: (value: T) => void = () => undefined;
  reject: (cause: unknown) => void = () => undefined;
  readonly promise = new Promise<T>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}

/** A template host as this process sees it. */
class RenderProcess {
  readonly #child: HostChild;
  readonly #timeMs: number;
  #asked: Pending<RenderAnswer> | null = null;
  #ended: TemplateFailure | null = null;

  constructor(launcher: HostLauncher, timeMs: number) {
    this.#timeMs = timeMs;
    this.#child = launcher.launch('template', {
      onSpawn: () => {},
      onMessage: (message) => this.#take(message),
      onStderr: () => {},
      onExit: () => this.#lose('it took more memory than a template may'),
    });
  }

  /** It has ended, or is being ended. */
  get gone(): boolean {
    return this.#ended !== null;
  }

  async ask(order: RenderOrder): Promise<RenderAnswer> {
    if (this.#ended !== null) throw this.#ended;
    const asked = new Pending<RenderAnswer>();
    this.#asked = asked;
    const late = setTimeout(() => this.end(`it has not ended after ${this.#timeMs / 1000} s`), this.#timeMs);
    try {
      this.#child.send(order);
      return await asked.promise;
    } finally {
      clearTimeout(late);
      this.#asked = null;
    }
  }

  end(reason: string): void {
    this.#lose(reason);
    this.#child.kill();
  }

  #take(message: unknown): void {
    const answer = renderAnswer.safeParse(message);
    if (answer.success) this.#asked?.resolve(answer.data);
    else this.end('its process answers with something else');
  }

  #lose(reason: string): void {
    this.#ended ??= new TemplateFailure('runaway', reason);
    this.#asked?.reject(this.#ended);
  }
}
