import { z } from 'zod';
import type { HostChild, HostLauncher } from '../../stage/hostLauncher.ts';
import type { TemplateAnswer, TemplateOrder } from '../../stage/templateOrders.ts';
import { TemplateFailure } from './templateFailure.ts';

export interface RendererLimits {
  /** For the start of a process: on a busy machine that takes its time, and it is no fault of the template. */
  startMs: number;
  /** For one text. */
  timeMs: number;
  /** UTF-16 units of a text. */
  longest: number;
}

const templateAnswer: z.ZodType<TemplateAnswer> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('started') }),
  z.strictObject({ kind: z.literal('text'), text: z.string() }),
  z.strictObject({ kind: z.literal('broken'), reason: z.string() }),
  z.strictObject({ kind: z.literal('refused'), reason: z.string() }),
]);

/** A text that is wanted. */
interface Wanted {
  order: TemplateOrder;
  resolve(text: string): void;
  reject(failure: TemplateFailure): void;
}

/**
 * One template's process, and the texts that are wanted of it. They are sent as they come and answered in that order: only the
 * first can be at work, so it is the one that pays when the process takes too long or dies, and the others get a new one.
 */
export class TemplateQueue {
  readonly #source: string;
  readonly #launcher: HostLauncher;
  readonly #limits: RendererLimits;
  readonly #wanted: Wanted[] = [];
  #child: HostChild | null = null;
  #isStarted = false;
  #late: NodeJS.Timeout | undefined;

  constructor(source: string, launcher: HostLauncher, limits: RendererLimits) {
    this.#source = source;
    this.#launcher = launcher;
    this.#limits = limits;
  }

  get idle(): boolean {
    return this.#wanted.length === 0;
  }

  /** Starts the process where there is none, so that no text waits for it. */
  begin(): HostChild {
    this.#child ??= this.#launch();
    return this.#child;
  }

  render(values: Record<string, unknown>): Promise<string> {
    return new Promise((resolve, reject) => {
      const order = { values: JSON.stringify(values), longest: this.#limits.longest };
      this.#wanted.push({ order, resolve, reject });
      this.begin().send(order);
      if (this.#wanted.length === 1) this.#watchFirst();
    });
  }

  close(): void {
    clearTimeout(this.#late);
    this.#end();
    const closing = new TemplateFailure('runaway', 'the gateway is closing');
    for (const { reject } of this.#wanted.splice(0)) reject(closing);
  }

  #launch(): HostChild {
    this.#isStarted = false;
    const child = this.#launcher.launch('template', {
      onSpawn: () => {},
      onMessage: (message) => {
        if (this.#child === child) this.#take(message);
      },
      onStderr: () => {},
      onExit: () => {
        if (this.#child === child) this.#lose('it took more memory than a template may');
      },
    });
    child.send({ source: this.#source } satisfies TemplateOrder);
    return child;
  }

  #take(message: unknown): void {
    const answer = templateAnswer.safeParse(message);
    if (!answer.success) {
      this.#lose('its process answers with something else');
      return;
    }
    if (answer.data.kind === 'started') {
      this.#isStarted = true;
      this.#watchFirst();
      return;
    }
    const first = this.#wanted.shift();
    this.#watchFirst();
    if (answer.data.kind === 'text') first?.resolve(answer.data.text);
    else first?.reject(new TemplateFailure(answer.data.kind, answer.data.reason));
  }

  /** Ends the process for the first's sake; the others are sent to a new one. */
  #lose(reason: string): void {
    this.#end();
    this.#wanted.shift()?.reject(new TemplateFailure('runaway', reason));
    for (const { order } of this.#wanted) this.begin().send(order);
    this.#watchFirst();
  }

  #watchFirst(): void {
    clearTimeout(this.#late);
    if (this.idle) return;
    const { startMs, timeMs } = this.#limits;
    this.#late = this.#isStarted
      ? setTimeout(() => this.#lose(`it has not ended after ${timeMs / 1000} s`), timeMs)
      : setTimeout(() => this.#lose(`its process has not started after ${startMs / 1000} s`), startMs);
  }

  #end(): void {
    this.#child?.kill();
    this.#child = null;
  }
}
