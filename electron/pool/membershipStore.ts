import { join } from 'node:path';
import { z } from 'zod';
import { epochSchema } from '../wire/epoch.ts';
import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import { PoolError } from './poolError.ts';
import { readPrivateFile, writePrivateFile } from './privateFile.ts';

/** What a membership must know again after a restart. */
export interface StoredMembership {
  /** Id of the pool, the hash of its CA's public key. */
  pool: string;
  /** Number of starts. */
  incarnation: number;
  /** The newest epoch that was known. */
  epoch: Epoch | null;
  /** Port of the heartbeat, 0 before the first start. */
  port: number;
  /** Where each other member was reached last, `host:port` of its heartbeat. */
  reached: Record<string, string>;
}

const storedSchema: z.ZodType<StoredMembership> = z.strictObject({
  pool: z.string(),
  incarnation: z.number().int().nonnegative(),
  epoch: epochSchema.nullable(),
  port: z.number().int().min(0).max(65_535),
  reached: z.record(z.string(), z.string()),
});

/** Keeps a StoredMembership in a data folder (`pool/membership.json`, 0600). */
export class MembershipStore {
  readonly #path: string;
  #stored: StoredMembership;
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string, stored: StoredMembership) {
    this.#path = path;
    this.#stored = stored;
  }

  /** What is there of another pool than `pool` is forgotten. Throws PoolError('DamagedFile'). */
  static async open(home: string, pool: string): Promise<MembershipStore> {
    const path = join(home, 'pool', 'membership.json');
    const text = await readPrivateFile(path);
    const fresh: StoredMembership = { pool, incarnation: 0, epoch: null, port: 0, reached: {} };
    if (text === null) return new MembershipStore(path, fresh);
    try {
      const stored = storedSchema.parse(JSON.parse(text));
      return new MembershipStore(path, stored.pool === pool ? stored : fresh);
    } catch (cause) {
      const message = `${path} cannot be read. Remove it; the other members know what it held.`;
      throw new PoolError('DamagedFile', message, { cause });
    }
  }

  get stored(): StoredMembership {
    return this.#stored;
  }

  /** Changes what is kept. Resolves when it is on disk; rejects when it cannot be written, and is known all the same. */
  save(changes: Partial<StoredMembership>): Promise<void> {
    this.#stored = { ...this.#stored, ...changes };
    const write = (): Promise<void> => writePrivateFile(this.#path, JSON.stringify(this.#stored));
    // A write that failed is told to who asked for it; the next one writes all of it again.
    this.#writing = this.#writing.then(write, write);
    return this.#writing;
  }
}
