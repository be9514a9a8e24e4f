import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { z } from 'zod';

/** A list of what was learnt, kept over restarts. */
export class TruthFile<T> {
  readonly #path: string;
  #list: readonly T[];
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string, list: readonly T[]) {
    this.#path = path;
    this.#list = list;
  }

  /** One that is not there or cannot be read begins anew: what it held is learnt again. */
  static async open<T>(path: string, truth: z.ZodType<T>): Promise<TruthFile<T>> {
    const schema = z.strictObject({ version: z.literal(1), truths: z.array(truth) });
    try {
      return new TruthFile(path, schema.parse(JSON.parse(await readFile(path, 'utf8'))).truths);
    } catch {
      return new TruthFile<T>(path, []);
    }
  }

  get list(): readonly T[] {
    return this.#list;
  }

  /** Resolves when it has been written; a list that cannot be written is known until the end of the process. */
  keep(list: readonly T[]): Promise<void> {
    this.#list = list;
    this.#writing = this.#writing.then(async () => {
      const partial = `${this.#path}.${randomBytes(4).toString('hex')}`;
      await writeFile(partial, JSON.stringify({ version: 1, truths: this.#list }), { mode: 0o600 });
      await rename(partial, this.#path);
    });
    const written = this.#writing;
    this.#writing = written.catch(() => {});
    return written;
  }
}
