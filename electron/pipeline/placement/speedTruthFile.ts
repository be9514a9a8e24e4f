import { z } from 'zod';
import { backends } from '../../planner/backend.ts';
import {
  LEAST_RATIO,
  learnSpeed,
  MOST_RATIO,
  type Profiled,
  type SpeedObservation,
  type SpeedTruth,
  speedOf,
  speedsOf,
} from './speedTruth.ts';
import { TruthFile } from './truthFile.ts';

const truthSchema = z.strictObject({
  model: z.string(),
  member: z.string(),
  backend: z.enum(backends),
  bandwidth: z.number().positive(),
  ratio: z.number().min(LEAST_RATIO).max(MOST_RATIO),
});

/** What is known may differ by this part from what is on disk, so that stages that run do not write all the time. */
const WRITTEN_AGAIN = 0.05;

/** How fast stages have really run, kept over restarts. */
export class SpeedTruthFile {
  readonly #file: TruthFile<SpeedTruth>;
  #known: readonly SpeedTruth[];

  private constructor(file: TruthFile<SpeedTruth>) {
    this.#file = file;
    this.#known = file.list;
  }

  /** See TruthFile.open. */
  static async open(path: string): Promise<SpeedTruthFile> {
    return new SpeedTruthFile(await TruthFile.open(path, truthSchema));
  }

  /** See speedsOf. */
  speeds(model: string, room: readonly Profiled[]): Map<string, number> {
    return speedsOf(this.#known, model, room);
  }

  /** Counts at once for later plans; resolves when it has been written, if it says something new. */
  async learn(seen: SpeedObservation): Promise<void> {
    this.#known = learnSpeed(this.#known, seen);
    const now = speedOf(this.#known, seen);
    const before = speedOf(this.#file.list, seen);
    const isNear = (a = 0, b = 0): boolean => Math.abs(a / b - 1) <= WRITTEN_AGAIN;
    if (isNear(now?.ratio, before?.ratio) && isNear(now?.bandwidth, before?.bandwidth)) return;
    if (now !== undefined) await this.#file.keep(this.#known);
  }
}
