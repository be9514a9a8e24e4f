import { compareEpochs } from '../wire/epoch.ts';
import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import { CallRefused } from '../wire/wireError.ts';
import type { EpochFences } from './epochFences.ts';
import { nextEpochCounter } from './epochStore.ts';
import { PoolError } from './poolError.ts';
import type { PoolMember } from './poolMember.ts';

/** How long a new leader's order may be ahead of the heartbeat that tells of it, ms. */
const AHEAD_MS = 3000;

/** The epoch of what this member serves: the pool's while it leads one, and one of its own where it stands alone. */
export class OwnTerm {
  readonly #home: string;
  readonly #pool: PoolMember;
  readonly #fences: EpochFences;
  readonly #onChange: (listener: () => void) => () => void;
  #alone: { place: string; epoch: Promise<Epoch> } | null = null;

  /** `onChange` tells of every change of what the member answers, until the function that it returns is called. */
  constructor(
    home: string,
    parts: { pool: PoolMember; fences: EpochFences; onChange: (listener: () => void) => () => void },
  ) {
    this.#home = home;
    this.#pool = parts.pool;
    this.#fences = parts.fences;
    this.#onChange = parts.onChange;
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
   * Lets an order in, or throws CallRefused: 'StaleEpoch', or 'UnknownEpoch' where the pool has not come to that one, lest
   * a single order keep out all that its leaders will ever give. What this member orders from itself alone, beside a pool
   * that it takes no part in, is none of the pool's epochs: it would keep out the pool's own ones later.
   */
  async admit(epoch: Epoch): Promise<void> {
    if (this.#pool.session !== null && this.#alone !== null) {
      if (compareEpochs(await this.#alone.epoch, epoch) === 0) return;
    }
    if (this.#pool.session !== null && !(await this.#comesTo(epoch))) {
      throw new CallRefused('UnknownEpoch', `Epoch ${epoch.counter} is not known to ${this.#pool.trust.self.name}.`);
    }
    await this.#fences.admit(epoch);
  }

  /** Whether the pool has come to an epoch, or does within a moment. */
  #comesTo(epoch: Epoch): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (known: boolean): void => {
        clearTimeout(timer);
        end();
        resolve(known);
      };
      const look = (): void => {
        const newest = this.#pool.epoch();
        if (newest !== null && compareEpochs(newest, epoch) >= 0) settle(true);
      };
      const timer = setTimeout(() => settle(false), AHEAD_MS);
      const end = this.#onChange(look);
      look();
    });
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
