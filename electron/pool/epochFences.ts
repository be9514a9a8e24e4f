import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import { memberIdOfCertificate } from '../wire/memberId.ts';
import { EpochFence } from './epochFence.ts';
import type { PoolTrust } from './trust/poolTrust.ts';

/** The fence of whatever pool this machine is in; what it leads alone in none has one of its own. */
export class EpochFences {
  readonly #home: string;
  readonly #trust: Pick<PoolTrust, 'tls'>;
  #opened: { pool: string; fence: Promise<EpochFence> } | null = null;

  constructor(home: string, trust: Pick<PoolTrust, 'tls'>) {
    this.#home = home;
    this.#trust = trust;
  }

  /** See EpochFence. */
  async admit(epoch: Epoch): Promise<void> {
    await (await this.#fence()).admit(epoch);
  }

  async raise(epoch: Epoch): Promise<void> {
    await (await this.#fence()).raise(epoch);
  }

  /** The newest epoch that has been let in. */
  async newest(): Promise<Epoch | null> {
    return (await this.#fence()).newest;
  }

  #fence(): Promise<EpochFence> {
    const pool = memberIdOfCertificate(Buffer.from(this.#trust.tls.ca));
    if (this.#opened?.pool !== pool) this.#opened = { pool, fence: EpochFence.open(this.#home, pool) };
    return this.#opened.fence;
  }
}
