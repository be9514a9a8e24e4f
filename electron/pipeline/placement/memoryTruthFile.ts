import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { backends } from '../../planner/backend.ts';
import { extraBytesOf, learnMemory, type MemoryKey, type MemoryObservation, type MemoryTruth } from './memoryTruth.ts';

const fileSchema = z.strictObject({
  version: z.literal(1),
  truths: z.array(
    z.strictObject({ model: z.string(), member: z.string(), backend: z.enum(backends), extraBytes: z.int() }),
  ),
});

/** What stages have really taken, kept over restarts. */
export class MemoryTruthFile {
  readonly #path: string;
  #truths: MemoryTruth[];
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string, truths: MemoryTruth[]) {
    this.#path = path;
    this.#truths = truths;
  }

  /** One that is not there or cannot be read begins anew: what it held is learnt again. */
  static async open(path: string): Promise<MemoryTruthFile> {
    try {
      return new MemoryTruthFile(path, fileSchema.parse(JSON.parse(await readFile(path, 'utf8'))).truths);
    } catch {
      return new MemoryTruthFile(path, []);
    }
  }

  extraBytes(key: MemoryKey): number {
    return extraBytesOf(this.#truths, key);
  }

  /** Resolves when it has been written; one that cannot be written is known until the end of the process. */
  learn(seen: MemoryObservation): Promise<void> {
    this.#truths = learnMemory(this.#truths, seen);
    this.#writing = this.#writing.then(async () => {
      const partial = `${this.#path}.${randomBytes(4).toString('hex')}`;
      await writeFile(partial, JSON.stringify({ version: 1, truths: this.#truths }), { mode: 0o600 });
      await rename(partial, this.#path);
    });
    const written = this.#writing;
    this.#writing = written.catch(() => {});
    return written;
  }
}
