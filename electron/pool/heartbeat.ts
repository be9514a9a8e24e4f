import { randomBytes, X509Certificate } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { dialHeartbeat } from '../wire/dialHeartbeat.ts';
import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import type { HeartbeatLink } from '../wire/heartbeatLink.ts';
import { heartbeatService } from '../wire/heartbeatService.ts';
import { memberIdOfCertificate } from '../wire/memberId.ts';
import type { TlsMaterial } from '../wire/tlsMaterial.ts';
import { PeerUnreachable } from '../wire/wireError.ts';
import { WireServer } from '../wire/wireServer.ts';
import { raceAddresses } from './addressRace.ts';
import { systemClock } from './clock.ts';
import { HeartbeatCodec } from './heartbeatCodec.ts';
import type { HeartbeatOptions } from './heartbeatContract.ts';
import type { MembershipEffect, MembershipEvent } from './membershipEvents.ts';
import { type MembershipState, startingState } from './membershipState.ts';
import { MembershipStore } from './membershipStore.ts';
import { TICK_MS } from './membershipTimings.ts';
import type { MembershipView } from './membershipView.ts';
import { controlAddresses, reachedAddress } from './peerAddresses.ts';
import { compareRecords, type PresenceRecord } from './presenceRecord.ts';
import { reduceMembership } from './reduceMembership.ts';

/** A dial that nobody answers gives up after this, ms. */
const DIAL_TIMEOUT_MS = 2500;
/** A disk that takes longer keeps nobody from having a leader, ms. */
const DISK_TIMEOUT_MS = 1500;
/** How long a goodbye may take, ms. */
const GOODBYE_MS = 500;

export interface HeartbeatListeners {
  onChange(view: MembershipView): void;
  /** Another process lives with this member's id; its control plane may be found at these addresses. */
  onTwin(addresses: string[]): void;
  /** Told once for each thing that is wrong but stops nothing. */
  onTrouble(message: string): void;
}

type Untimed<E> = E extends MembershipEvent ? Omit<E, 'at'> : never;

/** Gives the reducer what it needs of the world: a clock, a disk, a server and connections. Decides nothing itself. */
export class Heartbeat {
  readonly #member: string;
  readonly #store: MembershipStore;
  readonly #codec: HeartbeatCodec;
  readonly #listeners: HeartbeatListeners;
  readonly #links = new Map<string, HeartbeatLink>();
  readonly #dials = new Map<string, AbortController>();
  readonly #troubles = new Set<string>();
  #tls: TlsMaterial;
  #state: MembershipState | null = null;
  #server: WireServer | null = null;
  #timer: NodeJS.Timeout | undefined;
  #linkCount = 0;
  #stopped = false;

  private constructor({ member, tls }: HeartbeatOptions, store: MembershipStore, listeners: HeartbeatListeners) {
    this.#member = member;
    this.#tls = tls;
    this.#codec = new HeartbeatCodec(tls);
    this.#store = store;
    this.#listeners = listeners;
  }

  /** Listens and begins to beat. Throws ListenFailed and PoolError('DamagedFile'). */
  static async start(options: HeartbeatOptions, listeners: HeartbeatListeners): Promise<Heartbeat> {
    const store = await MembershipStore.open(options.home, memberIdOfCertificate(Buffer.from(options.tls.ca)));
    const heartbeat = new Heartbeat(options, store, listeners);
    await heartbeat.#start(options);
    return heartbeat;
  }

  get port(): number {
    return this.#running().own.heartbeatPort;
  }

  get view(): MembershipView {
    return this.#running().view;
  }

  take(event: Untimed<MembershipEvent>): void {
    if (this.#state === null || this.#stopped) return;
    const { state, effects } = reduceMembership(this.#state, { ...event, at: systemClock.now() });
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
  }

  /** Speaks with another certificate from the next connection on. */
  setTls(tls: TlsMaterial): void {
    this.#tls = tls;
    this.#server?.setTls(tls);
  }

  addPeer(peer: string, addresses: readonly string[]): void {
    this.take({ type: 'peerAdded', peer, addresses: this.#withRemembered(peer, addresses) });
  }

  removePeer(peer: string): void {
    this.#dials.get(peer)?.abort();
    this.take({ type: 'peerRemoved', peer });
    this.#server?.drop(peer);
    this.#rememberReached();
  }

  /** Ends every connection, after a goodbye where it is wanted. */
  async stop(goodbye: boolean): Promise<void> {
    if (goodbye) {
      this.take({ type: 'leave' });
      const flushed = Promise.all([...this.#links.values()].map((link) => link.flushed()));
      await Promise.race([flushed, sleep(GOODBYE_MS, null, { ref: false })]);
    }
    this.#stopped = true;
    clearInterval(this.#timer);
    for (const dial of this.#dials.values()) dial.abort();
    for (const link of this.#links.values()) link.close();
    await this.#server?.close();
  }

  async #start({ member, host, port, card, peers, tls }: HeartbeatOptions): Promise<void> {
    const { incarnation, epoch, port: lastPort } = this.#store.stored;
    const server = await this.#listen(host, port === 0 ? lastPort : port, port === 0);
    this.#server = server;
    const heartbeatPort = Number(server.address.slice(server.address.lastIndexOf(':') + 1));
    try {
      await this.#store.save({ incarnation: incarnation + 1, port: heartbeatPort });
    } catch (cause) {
      this.#trouble('disk', `This start could not be noted: ${String(cause)}`);
    }
    const run = randomBytes(8).toString('hex');
    const own = { member, incarnation: incarnation + 1, run, sequence: 0, left: false, leads: 0, heartbeatPort, card };
    const known = new Map<string, readonly string[]>();
    for (const [peer, addresses] of peers) if (peer !== member) known.set(peer, this.#withRemembered(peer, addresses));
    this.#state = startingState({
      at: systemClock.now(),
      own,
      epoch,
      peers: known,
      poolMadeMs: Date.parse(new X509Certificate(tls.ca).validFrom),
    });
    const tick = (): void => this.take({ type: 'tick', wall: systemClock.wall() });
    this.#timer = setInterval(tick, TICK_MS);
    tick();
  }

  async #listen(host: string, port: number, anyElse: boolean): Promise<WireServer> {
    const options = {
      tls: this.#tls,
      host,
      services: [heartbeatService((link) => this.#addLink(link))],
      admits: (member: string) => this.#state?.peers.has(member) ?? false,
      onRefused: (member: string | null) =>
        member === null
          ? this.#trouble('stranger', 'A connection without a certificate of this pool was refused.')
          : this.#trouble(`refused ${member}`, `Member ${member} is not in the roster and was refused.`),
    };
    try {
      return await WireServer.start({ ...options, port });
    } catch (cause) {
      if (port === 0 || !anyElse) throw cause;
      return WireServer.start({ ...options, port: 0 });
    }
  }

  #perform(effect: MembershipEffect): void {
    switch (effect.type) {
      case 'send': {
        const beat = this.#codec.encode(effect.beat);
        for (const name of effect.links) this.#links.get(name)?.send(beat);
        break;
      }
      case 'dial':
        this.#dial(effect.peer, effect.addresses);
        break;
      case 'closeLink':
        this.#links.get(effect.link)?.close();
        this.#links.delete(effect.link);
        break;
      case 'persist':
        this.#persist(effect.epoch);
        break;
      case 'changed':
        this.#rememberReached();
        this.#listeners.onChange(effect.view);
        break;
      case 'incredible':
        this.#trouble(
          `incredible ${effect.peer}`,
          `Member ${effect.peer} names an epoch that this pool cannot have come to. Remove it if that goes on.`,
        );
        break;
      case 'twin':
        if (this.#once(`twin ${effect.record.run}`)) this.#listeners.onTwin(controlAddresses(effect.record));
    }
  }

  #addLink(link: HeartbeatLink): void {
    if (this.#stopped) {
      link.close();
      return;
    }
    this.#linkCount += 1;
    const name = String(this.#linkCount);
    const { peer, host, port } = link;
    this.#links.set(name, link);
    link.listen({
      onBeat: (heartbeat) => {
        const beat = this.#codec.decode(heartbeat, (record) => this.#isNews(record));
        if (beat === 'unread') this.#trouble(`unread ${peer}`, `Member ${peer} sent a heartbeat that cannot be read.`);
        else if (beat === 'forged')
          this.#trouble(
            `forged ${peer}`,
            `Member ${peer} tells of others what they have not said. Remove it if that goes on.`,
          );
        else this.take({ type: 'beat', peer, link: name, beat });
      },
      onEnd: () => {
        this.#links.delete(name);
        this.take({ type: 'linkDown', peer, link: name });
      },
    });
    this.take({ type: 'linkUp', peer, link: name, host, port });
  }

  /** Whether a record may change anything; only then is its signature worth a check. */
  #isNews(record: PresenceRecord): boolean {
    const { own, peers } = this.#running();
    if (record.member === own.member) return record.run !== own.run;
    const known = peers.get(record.member)?.record;
    return known === null || (known !== undefined && compareRecords(record, known) > 0);
  }

  #dial(peer: string, addresses: string[]): void {
    const given = new AbortController();
    const before = this.#dials.get(peer);
    this.#dials.set(peer, given);
    before?.abort();
    const timer = setTimeout(() => given.abort(), DIAL_TIMEOUT_MS);
    const dial = async (address: string, signal: AbortSignal): Promise<HeartbeatLink> => {
      try {
        return await dialHeartbeat({ address, member: peer, tls: this.#tls }, signal);
      } catch (cause) {
        const isWanted = this.#dials.get(peer) === given;
        if (isWanted && cause instanceof PeerUnreachable && cause.refused)
          this.take({ type: 'dialRefused', peer, address });
        throw cause;
      }
    };
    raceAddresses({
      candidates: addresses.map((address) => ({ address, medium: 'unknown' })),
      dial: ({ address }, signal) => dial(address, signal),
      discard: (link) => link.close(),
      clock: systemClock,
      signal: given.signal,
    })
      .then(
        ({ connection }) => this.#addLink(connection),
        // Why each address did not answer is of no interest as long as one may later.
        () => this.#dials.get(peer) === given && this.take({ type: 'dialFailed', peer }),
      )
      .finally(() => {
        clearTimeout(timer);
        if (this.#dials.get(peer) === given) this.#dials.delete(peer);
      });
  }

  #persist(epoch: Epoch): void {
    const failed = (cause: unknown): void => this.#trouble('disk', `The epoch could not be kept: ${String(cause)}`);
    const saved = this.#store.save({ epoch }).catch(failed);
    void Promise.race([saved, sleep(DISK_TIMEOUT_MS, null, { ref: false })]).then(() =>
      this.take({ type: 'persisted', epoch }),
    );
  }

  /** Without multicast this is how a pool finds itself again after all of it was off. */
  #rememberReached(): void {
    const { reached: before } = this.#store.stored;
    const reached: Record<string, string> = {};
    for (const [id, peer] of this.#running().peers) {
      const address = (peer.links.size > 0 ? reachedAddress(peer) : null) ?? before[id];
      if (address !== undefined) reached[id] = address;
    }
    if (isDeepStrictEqual(reached, before)) return;
    this.#store
      .save({ reached })
      .catch((cause: unknown) => this.#trouble('disk', `Addresses could not be kept: ${String(cause)}`));
  }

  #withRemembered(peer: string, addresses: readonly string[]): string[] {
    const last = this.#store.stored.reached[peer];
    return [...new Set(last === undefined ? addresses : [last, ...addresses])];
  }

  #running(): MembershipState {
    if (this.#state === null) throw new Error(`The heartbeat of ${this.#member} has not started.`);
    return this.#state;
  }

  #trouble(what: string, message: string): void {
    if (this.#once(what)) this.#listeners.onTrouble(message);
  }

  #once(what: string): boolean {
    if (this.#troubles.has(what)) return false;
    this.#troubles.add(what);
    return true;
  }
}
