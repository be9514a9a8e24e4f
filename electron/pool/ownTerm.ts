import { compareEpochs } from '../wire/epoch.ts';
import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import type { EpochFences } from './epochFences.ts';
import { nextEpochCounter } from './epochStore.ts';
import { PoolError } from './poolError.ts';
import type { PoolMember } from './poolMember.ts';

/** The epoch of what this member serves: the pool's while it leads one, and one of its own where it stands alone. */
export class OwnTerm {
  readonly #home: string;
  readonly #pool: PoolMember;
  readonly #fences: EpochFences;
  #alone: { place: string; epoch: Promise<Epoch> } | null = null;

  constructor(home: string, pool: PoolMember, fences: EpochFences) {
    this.#home = home;
    this.#pool = pool;
    this.#fences = fences;
  }

  /** Throws PoolError('Refused') on a member that does not lead. */
  async epoch(): Promise<Epoch> {
    const { session, trust } = this.#pool;
    if (session === null || this.#pool.standsAlone()) return this.#aloneEpoch();
    const { epoch, coordinator } = session.view;
    if (epoch !== null && coordinator === trust.self.id) return epoch;
    const leader = this.#pool.members().find(({ id }) => id === coordinator);
    throw new PoolError(
      'Refused',
      leader === undefined
        ? 'No member leads the pool yet; try again in a moment.'
        : `${leader.name} leads the pool; serve the model there.`,
    );
  }

  /**
   * Lets an order in, or throws CallRefused('StaleEpoch'). What this member orders from itself alone, beside a pool that it
   * takes no part in, is none of the pool's epochs: it would keep out the pool's own ones later.
   */
  async admit(epoch: Epoch): Promise<void> {
    if (this.#pool.session !== null && this.#alone !== null) {
      if (compareEpochs(await this.#alone.epoch, epoch) === 0) return;
    }
    await this.#fences.admit(epoch);
  }

  async #aloneEpoch(): Promise<Epoch> {
    const { trust } = this.#pool;
    const place = `${trust.pool?.id} ${trust.self.id}`;
    if (this.#alone?.place !== place) this.#alone = { place, epoch: this.#begin() };
    const alone = this.#alone;
    try {
      return await alone.epoch;
    } catch (cause) {
      if (this.#alone === alone) this.#alone = null;
      throw cause;
    }
  }

  async #begin(): Promise<Epoch> {
    const seen = await this.#fences.newest();
    return { counter: await nextEpochCounter(this.#home, seen?.counter ?? 0), coordinator: this.#pool.trust.self.id };
  }
}
