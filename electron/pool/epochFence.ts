import { join } from 'node:path';
import { z } from 'zod';
import { compareEpochs, epochSchema } from '../wire/epoch.ts';
import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import { CallRefused } from '../wire/wireError.ts';
import { PoolError } from './poolError.ts';
import { readPrivateFile, writePrivateFile } from './privateFile.ts';

const fileSchema = z.strictObject({ pool: z.string(), epoch: epochSchema });

/** Keeps out orders of a coordinator whose time is over, also after a restart (`pool/fence.json`, 0600). */
export class EpochFence {
  readonly #path: string;
  readonly #pool: string;
  #newest: Epoch | null;
  #kept: Epoch | null;
  #keeping: Promise<void> = Promise.resolve();

  private constructor(path: string, pool: string, newest: Epoch | null) {
    this.#path = path;
    this.#pool = pool;
    this.#newest = newest;
    this.#kept = newest;
  }

  /** `pool` is its id, the hash of its CA's public key: each has epochs of its own. Throws PoolError('DamagedFile'). */
  static async open(home: string, pool: string): Promise<EpochFence> {
    const path = join(home, 'pool', 'fence.json');
    const text = await readPrivateFile(path);
    if (text === null) return new EpochFence(path, pool, null);
    try {
      const kept = fileSchema.parse(JSON.parse(text));
      return new EpochFence(path, pool, kept.pool === pool ? kept.epoch : null);
    } catch (cause) {
      throw new PoolError('DamagedFile', `${path} holds no epoch. Remove it and start again.`, { cause });
    }
  }

  /**
   * Lets an order of this epoch in. Resolves when a newer epoch than any before is on disk. Throws
   * CallRefused('StaleEpoch') for an older one.
   */
  async admit(epoch: Epoch): Promise<void> {
    const order = this.#newest === null ? 1 : compareEpochs(epoch, this.#newest);
    if (order < 0) {
      throw new CallRefused('StaleEpoch', `Epoch ${epoch.counter} is over; ${this.#newest?.counter} leads.`);
    }
    if (order > 0) this.#newest = epoch;
    const keep = (): Promise<void> => this.#keep();
    // What one order could not write, the next one tries again.
    this.#keeping = this.#keeping.then(keep, keep);
    await this.#keeping;
  }

  /** The newest epoch that has been let in. */
  get newest(): Epoch | null {
    return this.#newest;
  }

  /** From now on orders older than this epoch stay out; a newer one that is known already stands. */
  async raise(epoch: Epoch): Promise<void> {
    if (this.#newest === null || compareEpochs(epoch, this.#newest) > 0) await this.admit(epoch);
  }

  async #keep(): Promise<void> {
    const newest = this.#newest;
    if (newest === this.#kept) return;
    await writePrivateFile(this.#path, JSON.stringify({ pool: this.#pool, epoch: newest }));
    this.#kept = newest;
  }
}
