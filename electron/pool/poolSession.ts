import { askIntroduction } from '../wire/askIntroduction.ts';
import { probePeer } from '../wire/probePeer.ts';
import { watchProfile } from '../wire/watchProfile.ts';
import { WireError } from '../wire/wireError.ts';
import { NoAddressAnswered } from './addressRace.ts';
import { systemClock } from './clock.ts';
import { announcedAddresses } from './discovery/announcement.ts';
import { Discovery } from './discovery/discovery.ts';
import type { NetworkCards } from './discovery/networkCard.ts';
import { Membership } from './membership.ts';
import type { MembershipView } from './membershipView.ts';
import { PeerRoutes } from './peerRoutes.ts';
import type { MemberCard } from './presenceRecord.ts';
import type { MeasuredWay } from './profile/measuredWay.ts';
import { type MeasuredLink, PeerLinks } from './profile/peerLinks.ts';
import type { Profile } from './profile/profile.ts';
import { parseProfile, parseWays } from './profile/profileMessage.ts';
import { formatAddress, parseAddress } from './socketAddress.ts';
import type { PoolTrust } from './trust/poolTrust.ts';
import type { ReachablePeer } from './trust/trustPeers.ts';

export interface PoolSessionOptions {
  /** In a pool. */
  trust: PoolTrust;
  home: string;
  /** Literal address at which the heartbeat listens. */
  host: string;
  controlPort: number;
  /** Whether to look for others, and to be found, by multicast. */
  multicast: boolean;
  /** What this member says of itself, its name, hosts, port and roster aside. */
  card: Pick<MemberCard, 'build' | 'wireVersion' | 'shareBytes' | 'pinned' | 'abstains'>;
  readCards: () => Promise<NetworkCards>;
  onChange: () => void;
  /** Told after every change of `ways`. */
  onWays: () => void;
  onProblem: (cause: unknown) => void;
}

/** Between looks for members that are not there, and at the own network cards, ms. */
const TEND_MS = 2000;

/**
 * A member's life in one pool: finds the others, meets each on the way that is best, and knows who lives and who leads.
 * Ends with the pool, the member, or its id.
 */
export class PoolSession {
  readonly #options: PoolSessionOptions;
  readonly #routes: PeerRoutes;
  readonly #membership: Membership;
  readonly #links: PeerLinks;
  readonly #profiles = new Map<string, Profile>();
  /** What each of the others has measured. */
  readonly #ways = new Map<string, readonly MeasuredWay[]>();
  /** Ends the watch on the profile of each member that is watched. */
  readonly #watches = new Map<string, AbortController>();
  /** Of each member the start that was met, see MemberPresence; 0 for one that was met before it was heard of. */
  readonly #met = new Map<string, number>();
  readonly #meeting = new Set<string>();
  /** Ids of the others of the roster that was taken over last. */
  #peers: ReadonlySet<string>;
  #discovery: Discovery | null = null;
  #cards: NetworkCards;
  #view: MembershipView;
  #checkingTwin = false;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;

  private constructor(
    options: PoolSessionOptions,
    parts: { membership: Membership; cards: NetworkCards; peers: ReadonlySet<string> },
  ) {
    const { membership, cards, peers } = parts;
    this.#peers = peers;
    this.#options = options;
    this.#membership = membership;
    this.#view = membership.view;
    this.#cards = cards;
    const { trust } = options;
    this.#routes = new PeerRoutes({
      tls: () => trust.tls,
      cards: () => this.#cards.usable,
      onPinned: (member) => {
        this.#links.refresh(member);
        this.#inBackground(this.#meet(member));
      },
    });
    this.#links = new PeerLinks({
      probe: async (member, signal) =>
        probePeer({ member, address: await this.#routes.reach(member), tls: trust.tls }, signal),
      clock: systemClock,
      onChange: () => {
        options.onWays();
        options.onChange();
      },
      // Membership says who is lost; a probe is made again.
      onProblem: () => {},
    });
  }

  /** Throws HeartbeatFailed. */
  static async start(options: PoolSessionOptions): Promise<PoolSession> {
    const { trust, home, host, controlPort, multicast, card, readCards, onProblem } = options;
    const cards = await readCards();
    const peers = new Set(othersIn(trust));
    let session: PoolSession | null = null;
    const membership = await Membership.start({
      home,
      member: trust.self.id,
      tls: trust.tls,
      host,
      port: 0,
      card: {
        ...card,
        multicast,
        name: trust.self.name,
        hosts: hostsOf(cards),
        controlPort,
        rosterVersion: trust.pool?.version ?? 0,
      },
      peers: new Map([...peers].map((id) => [id, []])),
      onTwin: (addresses) => session?.checkTwin(addresses),
      onTrouble: (message) => onProblem(new Error(message)),
    });
    session = new PoolSession(options, { membership, cards, peers });
    await session.#start();
    return session;
  }

  get view(): MembershipView {
    return this.#view;
  }

  get heartbeatPort(): number {
    return this.#membership.port;
  }

  get discovery(): Discovery | null {
    return this.#discovery;
  }

  /** `host:port` of a member's control plane; null where none is known. */
  addressOf(member: string): string | null {
    const pinned = this.#routes.addressOf(member);
    if (pinned !== null) return pinned;
    const presence = this.#view.members.find(({ id }) => id === member);
    if (presence?.card === null || presence?.card === undefined) return null;
    const host = presence.host ?? presence.card.hosts[0];
    return host === undefined ? null : formatAddress({ host, port: presence.card.controlPort });
  }

  /** What a member said of its machine last; null before it has. */
  profileOf(member: string): Profile | null {
    return this.#profiles.get(member) ?? null;
  }

  /** The ways to this member that it has measured. */
  ways(): MeasuredWay[] {
    return [...this.#links.links()].map(([member, { rttMs, bytesPerSecond }]) => ({ member, rttMs, bytesPerSecond }));
  }

  /** The ways to another member that it has measured, as it said last. */
  waysOf(member: string): readonly MeasuredWay[] {
    return this.#ways.get(member) ?? [];
  }

  /** How far away a member is; null before that is measured. */
  linkTo(member: string): MeasuredLink | null {
    return this.#links.links().get(member) ?? null;
  }

  /** The others that are there now. */
  peers(): ReachablePeer[] {
    return this.#view.members.flatMap(({ id, self, state }) => {
      const address = self || (state !== 'alive' && state !== 'suspect') ? null : this.addressOf(id);
      return address === null ? [] : [{ id, address }];
    });
  }

  /** Somebody says where a member's control plane is, `host:port` each. */
  told(member: string, addresses: readonly string[]): void {
    if (member === this.#options.trust.self.id || !this.#isPeer(member)) return;
    this.#routes.sayAddresses(member, 'told', addresses);
  }

  /** Takes over who is in the pool now. */
  followRoster(): void {
    const { trust } = this.#options;
    const others = new Set(othersIn(trust));
    for (const id of others) if (!this.#peers.has(id)) this.#membership.addPeer(id, []);
    for (const id of this.#peers) if (!others.has(id)) this.#forget(id);
    this.#peers = others;
    this.#membership.setCard({ rosterVersion: trust.pool?.version ?? 0, name: trust.self.name });
    this.#discovery?.look();
  }

  /** A member did something that only a living one can; cheap enough to call for each frame. */
  noteProgress(member: string): void {
    if (member !== this.#options.trust.self.id) this.#membership.noteProgress(member);
  }

  /** This member's certificate is another one. */
  renewTls(): void {
    this.#membership.setTls(this.#options.trust.tls);
  }

  setCard(changes: Partial<MemberCard>): void {
    this.#membership.setCard(changes);
  }

  /** Another process lives with this member's id; which of them takes a new one is settled between the two. */
  checkTwin(addresses: readonly string[]): void {
    if (this.#checkingTwin || this.#stopped) return;
    this.#checkingTwin = true;
    const check = async (): Promise<void> => {
      for (const address of addresses) {
        const verdict = await this.#options.trust.checkTwin(address).catch(ignoreAbsent);
        if (verdict !== undefined) return;
      }
    };
    this.#inBackground(
      check().finally(() => {
        this.#checkingTwin = false;
      }),
    );
  }

  /** Ends it all, after a goodbye where others are to know that this member goes on purpose. */
  async stop({ goodbye }: { goodbye: boolean }): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    this.#routes.close();
    this.#links.close();
    for (const watch of this.#watches.values()) watch.abort();
    await Promise.all([this.#discovery?.stop(), goodbye ? this.#membership.leave() : this.#membership.stop()]);
  }

  async #start(): Promise<void> {
    const { trust, controlPort, multicast, card, readCards } = this.#options;
    this.#membership.onChange((view) => this.#follow(view));
    this.#follow(this.#membership.view);
    this.#timer = setInterval(() => this.#inBackground(this.#tend()), TEND_MS);
    const pool = trust.pool;
    if (!multicast || pool === null) return;
    this.#discovery = await Discovery.start({
      self: { id: trust.self.id, pool: pool.id, build: card.build, port: controlPort },
      wanted: (id) => this.#isPeer(id),
      onFound: ({ id, candidates }) => this.#routes.say(id, 'found', candidates),
      onTwin: (addresses) => this.checkTwin(addresses),
      cards: readCards,
    });
  }

  #follow(view: MembershipView): void {
    if (this.#stopped) return;
    const before = new Map(this.#view.members.map(({ id, state }) => [id, state]));
    this.#view = view;
    for (const { id, self, state, incarnation, host, card } of view.members) {
      if (self || card === null) continue;
      const hosts = host === null ? card.hosts : [host, ...card.hosts];
      const addresses = [...new Set(hosts)].map((each) => formatAddress({ host: each, port: card.controlPort }));
      this.#routes.sayAddresses(id, 'card', addresses);
      const isGone = state === 'lost' || state === 'left';
      // Where it listens may be another place after a restart.
      if (isGone ? before.get(id) !== state : (this.#met.get(id) ?? incarnation) !== incarnation) this.#routes.died(id);
      if (!isGone && this.#met.get(id) !== incarnation) this.#inBackground(this.#meet(id));
    }
    this.#links.set(this.peers().map(({ id }) => id));
    this.#options.onChange();
  }

  async #tend(): Promise<void> {
    const cards = await this.#options.readCards();
    if (this.#stopped) return;
    if (cards !== this.#cards) {
      this.#cards = cards;
      this.#membership.setCard({ hosts: hostsOf(cards) });
    }
    const { trust } = this.#options;
    for (const { id, self, state, incarnation } of this.#view.members) {
      if (self || state === 'left') continue;
      if (state === 'lost' || this.#met.get(id) !== incarnation) this.#inBackground(this.#meet(id));
    }
    const newer = this.#view.members.find(({ card }) => (card?.rosterVersion ?? 0) > (trust.pool?.version ?? 0));
    const peer = this.peers().find(({ id }) => id === newer?.id);
    if (peer !== undefined) await trust.syncWith(peer);
  }

  /** Compares rosters with a member and learns where its heart beats. It is no error that a member is not there. */
  async #meet(member: string): Promise<void> {
    if (this.#meeting.has(member) || this.#stopped) return;
    this.#meeting.add(member);
    try {
      const { trust } = this.#options;
      const address = await this.#routes.reach(member);
      await trust.syncWith({ id: member, address });
      const { heartbeatPort } = await askIntroduction({ address, member, tls: trust.tls });
      const host = parseAddress(address)?.host;
      if (this.#stopped || host === undefined || !this.#isPeer(member)) return;
      this.#inBackground(this.#watch(member, address));
      this.#met.set(member, this.#view.members.find(({ id }) => id === member)?.incarnation ?? 0);
      if (heartbeatPort > 0) this.#membership.addPeer(member, [formatAddress({ host, port: heartbeatPort })]);
      this.#options.onChange();
    } catch (cause) {
      this.#routes.died(member);
      ignoreAbsent(cause);
    } finally {
      this.#meeting.delete(member);
    }
  }

  /** Follows what a member says of its machine, until it is gone; then it is met again. */
  async #watch(member: string, address: string): Promise<void> {
    this.#watches.get(member)?.abort();
    const watch = new AbortController();
    this.#watches.set(member, watch);
    const { trust, onChange } = this.#options;
    try {
      for await (const message of watchProfile({ member, address, tls: trust.tls }, watch.signal)) {
        this.#profiles.set(member, parseProfile(message));
        this.#ways.set(member, parseWays(message));
        onChange();
      }
    } catch (cause) {
      if (!watch.signal.aborted) ignoreAbsent(cause);
    } finally {
      if (this.#watches.get(member) === watch) {
        this.#watches.delete(member);
        this.#met.delete(member);
      }
    }
  }

  #forget(member: string): void {
    this.#membership.removePeer(member);
    this.#routes.forget(member);
    this.#watches.get(member)?.abort();
    this.#profiles.delete(member);
    this.#ways.delete(member);
    this.#met.delete(member);
  }

  #isPeer(id: string): boolean {
    return othersIn(this.#options.trust).includes(id);
  }

  #inBackground(work: Promise<unknown>): void {
    work.catch((cause: unknown) => {
      if (!this.#stopped && !(cause instanceof WireError)) this.#options.onProblem(cause);
    });
  }
}

/** Literal addresses of the cards that lead to a LAN. */
export function hostsOf(cards: NetworkCards): string[] {
  const hosts = announcedAddresses(cards.usable).map(({ host }) => host);
  return hosts.sort((one, other) => Number(one.includes(':')) - Number(other.includes(':')));
}

function othersIn(trust: PoolTrust): string[] {
  return trust.members.flatMap(({ id, self }) => (self ? [] : [id]));
}

function ignoreAbsent(cause: unknown): undefined {
  if (cause instanceof WireError || cause instanceof NoAddressAnswered) return undefined;
  throw cause;
}
