import { vi } from 'vitest';
import { Pipeline } from '../../electron/pipeline/scheduler/pipeline.ts';
import type { Run } from '../../electron/wire/generated/roomful/v1/ring.ts';
import { RingOutlet } from '../../electron/wire/ringOutlet.ts';

/** A step that left the coordinator for the first stage, or that has come back from the last. */
export interface RingEvent {
  what: 'sent' | 'back';
  step: number;
  /** Of the step as it was sent. */
  runs: readonly Run[];
}

/** Writes down in which order the pipelines that this process drives send their steps and get them back; can hold them up. */
export class RingWatch {
  readonly events: RingEvent[] = [];
  readonly #underWay = new Map<number, readonly Run[]>();
  readonly #looking = new Set<(run: Run) => void>();
  /** Sends what is held up; null while nothing is to be held up. */
  #held: (() => void)[] | null = null;
  readonly #restore: () => void;

  constructor() {
    const watch = this;
    const { send } = RingOutlet.prototype;
    const { receive } = Pipeline.prototype;
    const sending = vi.spyOn(RingOutlet.prototype, 'send').mockImplementation(function (this: RingOutlet, frame) {
      watch.#sent(frame.step, frame.runs);
      const held = watch.#held;
      if (held === null) return send.call(this, frame);
      return new Promise((resolve) => held.push(() => resolve(send.call(this, frame))));
    });
    const receiving = vi.spyOn(Pipeline.prototype, 'receive').mockImplementation(function (this: Pipeline, ...back) {
      const [{ step }] = back;
      watch.events.push({ what: 'back', step, runs: watch.#underWay.get(step) ?? [] });
      watch.#underWay.delete(step);
      receive.apply(this, back);
    });
    this.#restore = () => {
      sending.mockRestore();
      receiving.mockRestore();
    };
  }

  /** Runs of steps that have not come back. */
  get underWay(): Run[] {
    return [...this.#underWay.values()].flat();
  }

  /** Resolves when a run is sent that `isIt` knows. */
  sent(isIt: (run: Run) => boolean): Promise<Run> {
    return new Promise((resolve) => {
      const look = (run: Run): void => {
        if (!isIt(run)) return;
        this.#looking.delete(look);
        resolve(run);
      };
      this.#looking.add(look);
    });
  }

  /** From now on steps are sent, but do not leave. */
  hold(): void {
    this.#held ??= [];
  }

  /** Everything held up leaves, in order. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const leave of held) leave();
  }

  close(): void {
    this.release();
    this.#restore();
  }

  #sent(step: number, runs: readonly Run[]): void {
    this.#underWay.set(step, runs);
    this.events.push({ what: 'sent', step, runs });
    for (const run of runs) for (const look of this.#looking) look(run);
  }
}
