import type { SignedEntry } from '../../wire/generated/roomful/v1/roster.ts';
import type { TrustClient } from '../../wire/trustClient.ts';
import { CallRefused } from '../../wire/wireError.ts';
import { entriesOf, isMember } from './roster.ts';
import { readEntries } from './rosterEntry.ts';
import { askAdmin, askPeer, type ReachablePeer } from './trustPeers.ts';
import { adminNames, type TrustState } from './trustState.ts';

const MOST_ENTRIES = 10_000;
const SETTLE_MS = 1000;

/** Brings the rosters of the members together: each gives what it knows and takes what is newer. */
export class RosterSync {
  readonly #state: TrustState;
  readonly #peers: () => readonly ReachablePeer[];
  readonly #report: (cause: unknown) => void;
  #pushing: Promise<void> = Promise.resolve();

  /** `report` hears why a member could not be told. */
  constructor(state: TrustState, peers: () => readonly ReachablePeer[], report: (cause: unknown) => void) {
    this.#state = state;
    this.#peers = peers;
    this.#report = report;
  }

  /** Rejects with a WireError, or PoolError: 'BadRoster', 'NotInPool'. */
  async syncWith(peer: ReachablePeer): Promise<void> {
    const { tls, roster } = this.#state.placed();
    const mine = entriesOf(roster).map(({ signed }) => signed);
    await this.#take(await askPeer(tls, peer, (client) => client.syncRoster(mine)));
  }

  /** Syncs with all that are there, after the rounds that were asked for before. */
  push(): void {
    this.#pushing = this.#pushing.then(async () => {
      const told = this.#state.place === null ? [] : this.#peers().map((peer) => this.syncWith(peer));
      for (const result of await Promise.allSettled(told))
        if (result.status === 'rejected') this.#report(result.reason);
    });
  }

  /** Resolves when all that were to be told have been, or after a second: who hangs keeps nobody. */
  async settled(): Promise<void> {
    await Promise.race([this.#pushing, new Promise((resolve) => setTimeout(resolve, SETTLE_MS).unref())]);
  }

  /** Tells those that are there an entry that this member does not take itself, as far as they can be reached. */
  async tell(entry: SignedEntry): Promise<void> {
    const { tls } = this.#state.placed();
    await Promise.allSettled(this.#peers().map((peer) => askPeer(tls, peer, (client) => client.syncRoster([entry]))));
  }

  /** Takes what `peer` knows, and answers what it may know: everything, or, of a member that is gone, that it is. */
  async exchange(entries: SignedEntry[], peer: string): Promise<SignedEntry[]> {
    if (this.#state.place === null) throw new CallRefused('NotAdmitted', 'This machine is in no pool.');
    if (entries.length > MOST_ENTRIES) throw new CallRefused('BadRequest', 'A roster of that length is none.');
    await this.#take(entries);
    const { roster } = this.#state;
    if (isMember(roster, peer)) return entriesOf(roster).map(({ signed }) => signed);
    const line = roster.members.get(peer);
    if (line === undefined) throw new CallRefused('NotAdmitted', 'This member is not in the pool.');
    return [line.signed];
  }

  /** Asks an admin that is there, see askAdmin. */
  askAdmin<T>(ask: (client: TrustClient) => Promise<T>): Promise<T> {
    const { tls, roster } = this.#state.placed();
    const admins = this.#peers().filter(({ id }) => roster.members.get(id)?.admin === true);
    return askAdmin(tls, admins, adminNames(roster), ask);
  }

  async #take(entries: readonly SignedEntry[]): Promise<void> {
    const { place } = this.#state;
    if (place === null) return;
    const read = readEntries(entries, { pool: place.pool, ca: place.tls.ca, known: place.roster });
    if (read.length > 0) await this.#state.edit(place.pool, () => read);
  }
}
