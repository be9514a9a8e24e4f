import type { Clock } from '../clock.ts';
import type { GpuReading } from '../sensors/gpuReading.ts';
import type { Detectors } from './detectors.ts';
import { gpuWanted, type OwnUse } from './gpuWanted.ts';
import { type Manner, manners, type Readings } from './manner.ts';
import type { MannersSettings } from './mannersSettings.ts';
import { DWELL_MS, type PauseState, sharing, stepPause } from './stepPause.ts';
import { voteOf } from './voteOf.ts';

export const MANNERS_INTERVAL_MS = 10_000;
/** Time between two readings counts up to this many intervals: a machine that slept did not stay hot meanwhile. */
const MOST_INTERVALS = 2;

export interface MannersOptions {
  detectors: Detectors;
  settings: MannersSettings;
  /** The cards that share, out of those that were read. */
  sharedCards: (cards: readonly GpuReading[]) => readonly GpuReading[];
  /** What this member did on them since the last call. */
  ownUse: () => OwnUse;
  /** Called when the manners that pause have changed. */
  onChange: (paused: readonly Manner[]) => void;
  /** Hears once of each detector that fails. */
  onProblem: (error: unknown) => void;
  clock: Clock;
  intervalMs?: number;
}

/** Watches battery, heat and graphics cards, and says when sharing has to pause and when it may go on. */
export class Manners {
  readonly #options: MannersOptions;
  readonly #intervalMs: number;
  #settings: MannersSettings;
  #states = new Map<Manner, PauseState>();
  #paused: readonly Manner[] = [];
  #lastAt: number | null = null;
  #cancelNext: () => void = () => {};
  #stopped = false;
  readonly #failed = new Set<string>();

  constructor(options: MannersOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#intervalMs = options.intervalMs ?? MANNERS_INTERVAL_MS;
  }

  /** The manners for which sharing pauses now. */
  get paused(): readonly Manner[] {
    return this.#paused;
  }

  /** Reads the sensors once, and then again and again until `stop`. */
  async start(): Promise<void> {
    await this.check();
    if (this.#stopped) return;
    this.#cancelNext = this.#options.clock.after(this.#intervalMs, () => void this.start());
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelNext();
  }

  /** Takes new settings; a manner that is switched off pauses no more. */
  set(settings: MannersSettings): void {
    this.#settings = settings;
    this.#decide((_manner, state) => state);
  }

  /** One reading of the sensors and what follows from it. Never rejects. */
  async check(): Promise<void> {
    const readings = await this.#read();
    if (this.#stopped) return;
    const now = this.#options.clock.now();
    const elapsedMs = Math.min(now - (this.#lastAt ?? now), MOST_INTERVALS * this.#intervalMs);
    this.#lastAt = now;
    this.#decide((manner, state) =>
      stepPause(state, voteOf(manner, readings, this.#settings), elapsedMs, DWELL_MS[manner]),
    );
  }

  #decide(next: (manner: Manner, state: PauseState) => PauseState): void {
    for (const manner of manners) {
      const on = this.#settings[manner].pause;
      this.#states.set(manner, on ? next(manner, this.#states.get(manner) ?? sharing) : sharing);
    }
    const paused = manners.filter((manner) => this.#states.get(manner)?.paused);
    const changed = paused.join() !== this.#paused.join();
    this.#paused = paused;
    if (changed) this.#options.onChange(paused);
  }

  /** Asks only what a manner wants to know. */
  async #read(): Promise<Readings> {
    const { detectors, sharedCards, ownUse } = this.#options;
    const { battery, heat, gpu } = this.#settings;
    const [onBattery, cpuCelsius, cards] = await Promise.all([
      battery.pause ? this.#ask('battery', detectors.onBattery) : null,
      heat.pause ? this.#ask('processor', detectors.cpuCelsius) : null,
      heat.pause || gpu.pause ? this.#ask('graphics cards', detectors.gpus) : null,
    ]);
    const shared = sharedCards(cards ?? []);
    const temperatures = shared.map(({ celsius }) => celsius).filter((celsius) => celsius !== null);
    return {
      onBattery,
      cpuCelsius,
      gpuCelsius: temperatures.length === 0 ? null : Math.max(...temperatures),
      gpuWanted: gpuWanted(shared, ownUse()),
    };
  }

  async #ask<T>(what: string, detect: () => Promise<T | null>): Promise<T | null> {
    try {
      return await detect();
    } catch (cause) {
      if (!this.#failed.has(what)) {
        this.#failed.add(what);
        this.#options.onProblem(new Error(`The ${what} of this machine could not be read.`, { cause }));
      }
      return null;
    }
  }
}
