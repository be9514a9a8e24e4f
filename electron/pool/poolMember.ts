import type { Epoch } from '../wire/generated/roomful/v1/ring.ts';
import { introductionService } from '../wire/introductionService.ts';
import { ProfileServer } from '../wire/profileServer.ts';
import type { ServedService } from '../wire/wireServer.ts';
import { cardReader } from './discovery/cardTraits.ts';
import { judgeMulticast, type MulticastVerdict } from './discovery/multicastCheck.ts';
import { nearMembers } from './discovery/nearMembers.ts';
import type { NetworkCards } from './discovery/networkCard.ts';
import { PoolError } from './poolError.ts';
import { hostsOf, PoolSession, type PoolSessionOptions } from './poolSession.ts';
import { type MemberStatus, memberStatuses } from './poolStatus.ts';
import { cardOf } from './profile/cardOf.ts';
import type { MemberProfile } from './profile/memberProfile.ts';
import { profileMessage } from './profile/profileMessage.ts';
import type { ProfileSettings } from './profile/profileSettings.ts';
import { formatAddress } from './socketAddress.ts';
import { PoolTrust } from './trust/poolTrust.ts';
import type { TrustEvent } from './trust/trustEvents.ts';

export interface PoolMemberOptions extends Pick<PoolSessionOptions, 'home' | 'card' | 'onProblem'> {
  /** The member's name until it is renamed. */
  name: string;
  /** Null for a member that nobody need find: it stays on loopback, beats no heart, and has only a roster. */
  lan: { multicast: boolean } | null;
  /** What this machine has to share; null where nobody is told. */
  profile: MemberProfile | null;
  /** Told after every change of what this class answers. */
  onChange: () => void;
}

const LOOPBACK = '127.0.0.1';

/**
 * This machine as a member: its trust, and, while it is in a pool, its session there. Sessions begin and end by themselves
 * as it comes into pools and goes.
 */
export class PoolMember {
  readonly trust: PoolTrust;
  readonly #options: PoolMemberOptions;
  readonly #readCards = cardReader();
  #cards: NetworkCards;
  readonly #waysListeners = new Set<() => void>();
  #profiles: ProfileServer | null = null;
  #controlPort = 0;
  #session: PoolSession | null = null;
  #changing: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;
  #asleep = false;

  private constructor(trust: PoolTrust, options: PoolMemberOptions, cards: NetworkCards) {
    this.trust = trust;
    this.#options = options;
    this.#cards = cards;
    const { profile } = options;
    if (profile === null) return;
    this.#profiles = new ProfileServer({
      current: () => profileMessage(profile.current, this.#session?.ways() ?? []),
      onChange: (listener) => {
        const forget = profile.onChange(listener);
        this.#waysListeners.add(listener);
        return () => {
          forget();
          this.#waysListeners.delete(listener);
        };
      },
    });
    profile.onChange((current) => {
      this.#session?.setCard(cardOf(current));
      options.onChange();
    });
  }

  /** Reads the data folder. Throws PoolError('DamagedFile'). */
  static async open(options: PoolMemberOptions): Promise<PoolMember> {
    const { home, name, lan, onProblem } = options;
    const cards: NetworkCards = lan === null ? { usable: [], skipped: [] } : await cardReader()();
    let member: PoolMember | null = null;
    const trust = await PoolTrust.open({
      home,
      name,
      joinDoor: { host: lan === null ? LOOPBACK : listenHost(cards), port: 0 },
      hosts: () => member?.hosts() ?? [],
      addresses: () => member?.addresses() ?? [],
      peers: () => member?.session?.peers() ?? [],
      onError: onProblem,
    });
    member = new PoolMember(trust, options, cards);
    return member;
  }

  /** Literal address for this member's servers: all of its cards, or loopback alone. */
  get listenHost(): string {
    return this.#options.lan === null ? LOOPBACK : listenHost(this.#cards);
  }

  /** What other members may ask; for the control plane's list. */
  get services(): ServedService[] {
    const introduce = async () => ({ heartbeatPort: this.#session?.heartbeatPort ?? 0 });
    const profiles = this.#profiles === null ? [] : [this.#profiles.service];
    return [this.trust.service, introductionService(introduce), ...profiles];
  }

  get session(): PoolSession | null {
    return this.#session;
  }

  /** Literal addresses of this machine, the best first. */
  hosts(): string[] {
    return this.#options.lan === null ? [LOOPBACK] : hostsOf(this.#cards);
  }

  /** `host:port` of the control plane, the best first. */
  addresses(): string[] {
    return this.hosts().map((host) => formatAddress({ host, port: this.#controlPort }));
  }

  /** The control plane listens: from now on the member takes part in its pool. Throws HeartbeatFailed. */
  async begin(controlPort: number): Promise<void> {
    this.#controlPort = controlPort;
    this.trust.onChange((event) => this.#follow(event));
    await this.#restart({ goodbye: false });
  }

  /** Resolves when the member takes part in the pool that it has come into, and in no other. */
  settled(): Promise<void> {
    return this.#changing;
  }

  async create(name: string): Promise<void> {
    await this.trust.create(name);
    await this.settled();
  }

  /** Joins by a token, and looks for those that are there. Throws PoolError. */
  async join(token: string): Promise<void> {
    const contacts = await this.trust.join(token);
    await this.settled();
    for (const { id, address } of contacts) this.#session?.told(id, [address]);
  }

  /** See PoolTrust. */
  async importAuthority(text: string, passphrase: string): Promise<void> {
    await this.trust.importAuthority(text, passphrase);
    await this.settled();
  }

  async leave(options?: { abandon?: boolean }): Promise<void> {
    await this.trust.leave(options);
    await this.settled();
  }

  async rename(name: string): Promise<void> {
    await this.trust.rename(name);
    this.#session?.setCard({ name: this.trust.self.name });
    this.#options.onChange();
  }

  /** Shares nothing until told otherwise, also after a restart. */
  async pause(paused: boolean): Promise<void> {
    await this.#options.profile?.change({ paused });
  }

  /** What the owner has decided about sharing. Throws PoolError('Refused') on a member that tells nobody of its machine. */
  sharing(): ProfileSettings {
    return this.#ownProfile().settings;
  }

  /** Takes new settings and keeps them. Throws as `sharing` does. */
  async changeSharing(change: Partial<ProfileSettings>): Promise<void> {
    await this.#ownProfile().change(change);
  }

  /** Lets this member come first in the next election, also after a restart; who leads now goes on. */
  async pin(pinned: boolean): Promise<void> {
    await this.#options.profile?.change({ pinned });
    this.#session?.setCard({ pinned });
    this.#options.onChange();
  }

  /** A member did something that only a living one can, such as sending a frame; cheap enough to call for each. */
  noteProgress(member: string): void {
    this.#session?.noteProgress(member);
  }

  /** Id of the member that leads; null in no pool, and while nobody does. */
  coordinator(): string | null {
    return this.#session?.view.coordinator ?? null;
  }

  epoch(): Epoch | null {
    return this.#session?.view.epoch ?? null;
  }

  /** Whether this member serves by itself: nobody need find it, it is in no pool, or its leader has another build. */
  standsAlone(): boolean {
    return this.#session === null || this.members().some(({ self, reject }) => self && reject !== null);
  }

  /** Everyone in the pool as this member sees them; itself alone in none, and where it looks for nobody. */
  members(): MemberStatus[] {
    const session = this.#session;
    const { members, self } = this.trust;
    return memberStatuses({
      roster: this.#options.lan === null ? members.filter(({ id }) => id === self.id) : members,
      self: { ...this.trust.self, card: this.#card(), address: this.addresses()[0] ?? null },
      presences: session?.view.members ?? [],
      coordinator: this.coordinator(),
      addressOf: (id) => session?.addressOf(id) ?? null,
      profileOf: (id) =>
        id === this.trust.self.id ? (this.#options.profile?.current ?? null) : (session?.profileOf(id) ?? null),
      linkTo: (id) => session?.linkTo(id) ?? null,
    });
  }

  /** The self-test of multicast; null where it is not used. */
  multicast(): MulticastVerdict | null {
    const session = this.#session;
    if (session === null || session.discovery === null) return null;
    const { discovery, view } = session;
    const found = new Set(discovery.found().map(({ id }) => id));
    const near = nearMembers(view.members, found, this.#cards.usable);
    return judgeMulticast(discovery.facts(), near, process.platform);
  }

  /** The cards of this machine as they were last read. */
  cards(): NetworkCards {
    return this.#cards;
  }

  /** The machine is about to sleep: says goodbye and takes no part until `wake`. Resolves when the others have been told. */
  async sleep(): Promise<void> {
    this.#asleep = true;
    await this.#restart({ goodbye: true });
  }

  /** Takes part again, under the addresses that the machine has now. */
  async wake(): Promise<void> {
    this.#asleep = false;
    await this.#restart({ goodbye: false });
  }

  /** Ends with a goodbye; the others wait for its return. To be called before the control plane is closed. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    this.#profiles?.close();
    await this.#restart({ goodbye: true });
    await this.trust.close();
  }

  #card(): PoolSessionOptions['card'] {
    const { card, profile } = this.#options;
    return profile === null ? card : { ...card, ...cardOf(profile.current), pinned: profile.settings.pinned };
  }

  #ownProfile(): MemberProfile {
    const { profile } = this.#options;
    if (profile !== null) return profile;
    throw new PoolError('Refused', 'This member shares an amount that it was started with; nothing else can be set.');
  }

  #follow(event: TrustEvent): void {
    switch (event.kind) {
      case 'PoolChanged': {
        const restarting = this.#restart({ goodbye: event.why === 'Left' });
        restarting.catch(this.#options.onProblem);
        break;
      }
      case 'CertificateRenewed':
        this.#session?.renewTls();
        break;
      case 'RosterChanged':
        this.#session?.followRoster();
        break;
      case 'InvitesChanged':
        break;
      case 'MemberJoined':
        this.#session?.told(event.member, event.addresses);
    }
    this.#options.onChange();
  }

  /** Ends the session, and begins one where this machine is in a pool; one change after the other. */
  #restart(how: { goodbye: boolean }): Promise<void> {
    const change = async (): Promise<void> => {
      const before = this.#session;
      this.#session = null;
      await before?.stop(how);
      const { lan, home, onProblem } = this.#options;
      if (lan !== null && this.trust.pool !== null && this.#closing === null && !this.#asleep) {
        this.#cards = await this.#readCards();
        this.#session = await PoolSession.start({
          trust: this.trust,
          home,
          host: this.listenHost,
          controlPort: this.#controlPort,
          multicast: lan.multicast,
          card: this.#card(),
          readCards: async () => {
            this.#cards = await this.#readCards();
            return this.#cards;
          },
          onChange: () => this.#options.onChange(),
          onWays: () => {
            for (const tell of [...this.#waysListeners]) tell();
          },
          onProblem,
        });
      }
      // What changed while the session began.
      this.#session?.followRoster();
      this.#options.onChange();
    };
    const changing = this.#changing.then(change, change);
    this.#changing = changing;
    return changing;
  }
}

/** All cards by IPv4 and IPv6, by IPv4 alone where the system has no IPv6. */
function listenHost({ usable, skipped }: NetworkCards): string {
  const hosts = [...usable, ...skipped].flatMap(({ addresses }) => addresses.map(({ host }) => host));
  return hosts.some((host) => host.includes(':')) ? '::' : '0.0.0.0';
}
