import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import type { EpochFences } from './epochFences.ts';
import { nextEpochCounter } from './epochStore.ts';
import { PoolError } from './poolError.ts';
import type { PoolMember } from './poolMember.ts';

/** The epoch of what this member serves: the pool's while it leads one, and one of its own where nobody else takes part. */
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
    if (session === null) {
      const place = `${trust.pool?.id} ${trust.self.id}`;
      if (this.#alone?.place !== place) this.#alone = { place, epoch: this.#begin() };
      return this.#alone.epoch;
    }
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

  async #begin(): Promise<Epoch> {
    const seen = await this.#fences.newest();
    return { counter: await nextEpochCounter(this.#home, seen?.counter ?? 0), coordinator: this.#pool.trust.self.id };
  }
}
