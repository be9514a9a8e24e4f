import { setTimeout as sleep } from 'node:timers/promises';
import type { SendGate } from '../../wire/slicesService.ts';
import { endChunk, freshPace, type PaceSettings, type PaceState, reserveChunk } from './slicePace.ts';

export interface SliceGateOptions {
  settings(): PaceSettings;
  /** Whether a stage computes on this machine now. */
  isLoaded(): boolean;
  /** ms. */
  clock?: () => number;
  /** Waits so many ms of that clock; rejects with the signal. */
  rest?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Beside a computing stage: half a millisecond of a quick network, so that activations do not wait for long. */
const LOADED_BLOCK_BYTES = 64 * 1024;

/** Under a limit a block takes this long, so that no receiver, however many there are, hears nothing for long. */
const LIMITED_SECONDS = 0.1;
const LEAST_BLOCK_BYTES = 1024;

/** Lets chunks out as slicePace says: as they come, or one by one with rests between them while a stage computes here. */
export class SliceGate implements SendGate {
  readonly #options: SliceGateOptions;
  readonly #clock: () => number;
  readonly #rest: (ms: number, signal: AbortSignal) => Promise<unknown>;
  #state: PaceState = freshPace;
  #alone: Promise<void> = Promise.resolve();

  constructor(options: SliceGateOptions) {
    this.#options = options;
    this.#clock = options.clock ?? (() => performance.now());
    this.#rest = options.rest ?? ((ms, signal) => sleep(ms, undefined, { signal }));
  }

  get mostBytes(): number {
    const { bytesPerSecond } = this.#options.settings();
    const limited =
      bytesPerSecond === null
        ? Number.POSITIVE_INFINITY
        : Math.max(LEAST_BLOCK_BYTES, bytesPerSecond * LIMITED_SECONDS);
    return Math.floor(Math.min(limited, this.#options.isLoaded() ? LOADED_BLOCK_BYTES : limited));
  }

  async begin(bytes: number, signal: AbortSignal): Promise<() => void> {
    if (!this.#options.isLoaded()) {
      await this.#wait(bytes, false, signal);
      return () => {};
    }
    const before = this.#alone;
    let done = (): void => {};
    this.#alone = new Promise((resolve) => {
      done = resolve;
    });
    try {
      await before;
      await this.#wait(bytes, true, signal);
    } catch (cause) {
      done();
      throw cause;
    }
    const startedAt = this.#clock();
    return () => {
      this.#state = endChunk(this.#state, { startedAt, now: this.#clock() }, this.#options.settings());
      done();
    };
  }

  async #wait(bytes: number, loaded: boolean, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const now = this.#clock();
    const { state, startAt } = reserveChunk(this.#state, { now, bytes, loaded }, this.#options.settings());
    this.#state = state;
    if (startAt > now) await this.#rest(startAt - now, signal).catch(() => signal.throwIfAborted());
  }
}
