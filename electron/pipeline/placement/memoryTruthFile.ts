import { z } from 'zod';
import { backends } from '../../planner/backend.ts';
import { extraBytesOf, learnMemory, type MemoryKey, type MemoryObservation, type MemoryTruth } from './memoryTruth.ts';
import { TruthFile } from './truthFile.ts';

const truthSchema = z.strictObject({
  model: z.string(),
  member: z.string(),
  backend: z.enum(backends),
  extraBytes: z.int(),
});

/** What stages have really taken, kept over restarts. */
export class MemoryTruthFile {
  readonly #file: TruthFile<MemoryTruth>;

  private constructor(file: TruthFile<MemoryTruth>) {
    this.#file = file;
  }

  /** See TruthFile.open. */
  static async open(path: string): Promise<MemoryTruthFile> {
    return new MemoryTruthFile(await TruthFile.open(path, truthSchema));
  }

  extraBytes(key: MemoryKey): number {
    return extraBytesOf(this.#file.list, key);
  }

  /** See TruthFile.keep. */
  learn(seen: MemoryObservation): Promise<void> {
    return this.#file.keep(learnMemory(this.#file.list, seen));
  }
}
