import type { z } from 'zod';
import { readPrivateFile, writePrivateFile } from '../pool/privateFile.ts';

/** A small JSON file of the shell's own, whose loss is no harm: what cannot be read counts as not there. */
export class KeptFile<T> {
  readonly #path: string;
  readonly #schema: z.ZodType<T>;
  #writing: Promise<void> = Promise.resolve();

  constructor(path: string, schema: z.ZodType<T>) {
    this.#path = path;
    this.#schema = schema;
  }

  async read(): Promise<T | null> {
    try {
      const parsed = this.#schema.safeParse(JSON.parse((await readPrivateFile(this.#path)) ?? 'null'));
      return parsed.success ? parsed.data : null;
    } catch {
      return null;
    }
  }

  /** Resolves when it is on the disk; one after the other. */
  async write(value: T): Promise<void> {
    const write = (): Promise<void> => writePrivateFile(this.#path, `${JSON.stringify(value, null, 2)}\n`);
    this.#writing = this.#writing.then(write, write);
    await this.#writing;
  }
}
