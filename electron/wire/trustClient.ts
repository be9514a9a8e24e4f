import { clientOptions } from './channelOptions.ts';
import type { SignedEntry } from './generated/roomful/v1/roster.ts';
import {
  TrustClient as GeneratedClient,
  type Presence,
  type RekeyReply,
  type RenewReply,
  type RosterMessage,
  type SealedAuthority,
} from './generated/roomful/v1/trust.ts';
import { type Peer, PeerCalls } from './peerCalls.ts';

const TIMEOUT_MS = 10_000;

/** Asks another member in questions of trust; one connection, kept until `close`. Every method rejects with a WireError. */
export class TrustClient {
  readonly #calls: PeerCalls;
  readonly #client: GeneratedClient;

  constructor(peer: Peer) {
    this.#calls = new PeerCalls(peer);
    this.#client = new GeneratedClient(peer.address, this.#calls.credentials, clientOptions);
  }

  /** Gives what this member knows, answers what the other does. */
  async syncRoster(entries: SignedEntry[]): Promise<SignedEntry[]> {
    const reply = await this.#calls.unary<RosterMessage>('Comparing rosters', TIMEOUT_MS, (metadata, options, done) =>
      this.#client.syncRoster({ entries }, metadata, options, done),
    );
    return reply.entries;
  }

  /** A new certificate, PEM, for the key of the one that is shown. */
  async renew(hosts: readonly string[]): Promise<string> {
    const reply = await this.#calls.unary<RenewReply>(
      'Renewing the certificate',
      TIMEOUT_MS,
      (metadata, options, done) => this.#client.renew({ hosts: [...hosts] }, metadata, options, done),
    );
    return reply.certificate;
  }

  async rename(name: string): Promise<void> {
    await this.#calls.unary('Telling the new name', TIMEOUT_MS, (metadata, options, done) =>
      this.#client.rename({ name }, metadata, options, done),
    );
  }

  async leave(): Promise<void> {
    await this.#calls.unary('Leaving', TIMEOUT_MS, (metadata, options, done) =>
      this.#client.leave({}, metadata, options, done),
    );
  }

  async takeAuthority(sealed: SealedAuthority): Promise<void> {
    await this.#calls.unary("Handing over the pool's key", TIMEOUT_MS, (metadata, options, done) =>
      this.#client.takeAuthority(sealed, metadata, options, done),
    );
  }

  meet(presence: Presence): Promise<Presence> {
    return this.#calls.unary('Meeting', TIMEOUT_MS, (metadata, options, done) =>
      this.#client.meet(presence, metadata, options, done),
    );
  }

  /** A certificate, PEM, for the new key that has signed the request. */
  async rekey(certificateRequest: Uint8Array): Promise<string> {
    const reply = await this.#calls.unary<RekeyReply>(
      'Getting a place of its own',
      TIMEOUT_MS,
      (metadata, options, done) =>
        this.#client.rekey({ certificateRequest: Buffer.from(certificateRequest) }, metadata, options, done),
    );
    return reply.certificate;
  }

  close(): void {
    this.#client.close();
  }
}
