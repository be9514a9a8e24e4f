import { randomUUID } from 'node:crypto';
import type { Presence } from '../../wire/generated/roomful/v1/trust.ts';
import { CallRefused } from '../../wire/wireError.ts';
import { newIdentity } from '../identity.ts';
import type { AdminDesk } from './adminDesk.ts';
import { createCertificateRequest } from './certificateRequest.ts';
import { type Place, tlsOf } from './place.ts';
import { mergeRoster } from './roster.ts';
import { readEntries } from './rosterEntry.ts';
import type { RosterSync } from './rosterSync.ts';
import { askPeer } from './trustPeers.ts';
import type { TrustState } from './trustState.ts';
import { judgeTwin, type TwinVerdict } from './twin.ts';

/** Tells apart two processes whose data folders are copies, so that they have the same id: one of them takes a new key. */
export class TwinWatch {
  readonly #state: TrustState;
  readonly #desk: AdminDesk;
  readonly #sync: RosterSync;
  readonly #report: (cause: unknown) => void;
  #presence: Presence;
  #rekeying: Promise<void> | null = null;

  /** `atHome`: whether this process runs where its key was made. `report` hears of a new key that could not be had. */
  constructor(
    state: TrustState,
    {
      desk,
      sync,
      atHome,
      report,
    }: { desk: AdminDesk; sync: RosterSync; atHome: boolean; report: (cause: unknown) => void },
  ) {
    this.#state = state;
    this.#desk = desk;
    this.#sync = sync;
    this.#report = report;
    this.#presence = { instance: randomUUID(), startedAtMs: Math.floor(state.now()), atHome };
  }

  /** Asks who has this machine's id at an address. Rejects with a WireError, or what kept it from a new key. */
  async check(address: string): Promise<TwinVerdict> {
    const peer = { id: this.#state.identity.id, address };
    const other = await askPeer(this.#state.placed().tls, peer, (client) => client.meet(this.#presence));
    const verdict = judgeTwin(this.#presence, other);
    if (verdict === 'Rekey') await this.#rekey();
    return verdict;
  }

  /** Answers who asks the same. Throws CallRefused for anybody who has another id. */
  meet(presence: Presence, peer: string): Presence {
    if (peer !== this.#state.identity.id) throw new CallRefused('WrongMember', 'Only who has the same id asks that.');
    if (judgeTwin(this.#presence, presence) === 'Rekey') this.#rekey().catch(this.#report);
    return this.#presence;
  }

  #rekey(): Promise<void> {
    this.#rekeying ??= this.#takeNewKey().finally(() => {
      this.#rekeying = null;
    });
    return this.#rekeying;
  }

  async #takeNewKey(): Promise<void> {
    const place = this.#state.placed();
    const identity = newIdentity();
    const request = await createCertificateRequest(identity);
    const { certificate, roster } = await this.#newPlace(place, request);
    const tls = tlsOf(identity, place.tls.ca, certificate);
    await this.#state.enter({ ...place, roster, tls }, identity, 'Rekeyed');
    this.#presence = { ...this.#presence, atHome: true };
  }

  async #newPlace(place: Place, request: Uint8Array): Promise<Pick<Place, 'roster'> & { certificate: string }> {
    if (place.authority !== null) {
      const certificate = await this.#desk.rekey(request, this.#state.identity.id);
      return { certificate, roster: this.#state.roster };
    }
    const { certificate, entries } = await this.#sync.askAdmin(async (client) => ({
      certificate: await client.rekey(request),
      entries: await client.syncRoster([]),
    }));
    const { pool, tls, roster } = place;
    return { certificate, roster: mergeRoster(roster, readEntries(entries, { pool, ca: tls.ca, known: roster })) };
  }
}
