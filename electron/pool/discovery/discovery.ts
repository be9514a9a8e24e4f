import { randomBytes } from 'node:crypto';
import { type Clock, systemClock } from '../clock.ts';
import { formatAddress } from '../socketAddress.ts';
import { type Announcement, announcedAddresses, decodeAnnouncement, encodeAnnouncement } from './announcement.ts';
import { type Candidate, mediumTo } from './candidate.ts';
import { cardReader } from './cardTraits.ts';
import {
  addSighting,
  type Directory,
  type FoundMember,
  foundMembers,
  keepSightings,
  removeMember,
} from './directory.ts';
import { type Answer, DiscoveryChannel, type Family } from './discoveryChannel.ts';
import type { MulticastFacts } from './multicastCheck.ts';
import { cardsOf, type NetworkCard, type NetworkCards } from './networkCard.ts';

export interface DiscoveryOptions {
  self: { id: string; pool: string; build: string; port: number };
  /** Whether to tell of a member with this id; the pool's roster decides. Ask again with `look` when that changes. */
  wanted: (id: string) => boolean;
  /** A member was heard of, or is reached by other addresses than before. Anyone can announce anything: dial and check. */
  onFound: (member: FoundMember) => void;
  /** A member said goodbye or was not heard for a while. That is no proof: multicast gets lost, goodbyes can be forged. */
  onGone?: (id: string) => void;
  /** Heard each time that another process announces this member's id at these addresses: its data folder was copied. */
  onTwin?: (addresses: readonly string[]) => void;
  /** How the cards of this machine are read; answers the same object while nothing changed. */
  cards?: () => Promise<NetworkCards>;
  clock?: Clock;
  /** See Announcement; drawn once per process where left out. */
  run?: string;
}

const LOOK_FIRST_MS = 1000;
const LOOK_MOST_MS = 30_000;
/** Three looks without an answer. */
const FORGET_MS = 100_000;
const CARDS_EVERY_MS = 2000;

/** In place of a card's name; no card has an empty one. */
const ELSEWHERE = '';

const NO_CARDS: NetworkCards = { usable: [], skipped: [] };

const PROCESS_RUN = randomBytes(8).toString('hex');

/** Of this process, so that a member that leaves a pool and joins one goes on counting within its run. */
let editions = 0;

/**
 * Tells everyone on the LAN where this member is, and hears where the others of its pool are (mDNS, DNS-SD): on every
 * card that leads to a LAN, by IPv4 and IPv6. Follows cards as they come and go. Where multicast is blocked it finds
 * nobody and runs on; `facts` says what it met.
 */
export class Discovery {
  readonly #options: DiscoveryOptions;
  readonly #clock: Clock;
  readonly #run: string;
  readonly #readCards: () => Promise<NetworkCards>;
  #cards = NO_CARDS;
  #channels: DiscoveryChannel[] = [];
  #refused: { card: NetworkCard; family: Family; why: string }[] = [];
  #directory: Directory = new Map();
  #found = new Map<string, FoundMember>();
  /** Cards by which an own announcement came back, and by which someone else was heard. */
  readonly #echoed = new Set<string>();
  readonly #heard = new Set<string>();
  #edition = 0;
  /** Since the cards changed. */
  #looks = 0;
  #waitMs = LOOK_FIRST_MS;
  #stopped = false;
  #cancelLook = (): void => {};
  #cancelCards = (): void => {};
  #changing: Promise<void> = Promise.resolve();

  private constructor(options: DiscoveryOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#run = options.run ?? PROCESS_RUN;
    this.#readCards = options.cards ?? cardReader();
  }

  /** Announces and looks at once. Never rejects for what the network is like. */
  static async start(options: DiscoveryOptions): Promise<Discovery> {
    const discovery = new Discovery(options);
    await discovery.#followCards();
    return discovery;
  }

  /** Who is known now, with their addresses, best first. */
  found(): FoundMember[] {
    return [...this.#found.values()];
  }

  /** The cards of this machine as they were last read. */
  cards(): NetworkCards {
    return this.#cards;
  }

  /** Asks everyone again, and more often for a while: after a wake, when the roster changed, when a member was lost. */
  look(): void {
    this.#waitMs = LOOK_FIRST_MS;
    this.#lookNow();
  }

  /** What multicast was like so far, see judgeMulticast. */
  facts(): MulticastFacts {
    return {
      looks: this.#looks,
      cards: this.#cards.usable.map(({ name }) => name),
      skipped: this.#cards.skipped.map(({ name }) => name),
      open: this.#channels.map(({ card }) => card),
      refused: this.#refused.map(({ card, why }) => ({ card: card.name, why })),
      unsent: this.#channels.flatMap(({ card, sendError }) =>
        sendError === null ? [] : [{ card, why: sendError.message }],
      ),
      echoed: [...this.#echoed],
      heard: [...this.#heard],
      dropped: this.#channels.reduce((sum, { dropped }) => sum + dropped, 0),
    };
  }

  /** Says goodbye. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelCards();
    this.#cancelLook();
    await this.#changing;
    await this.#closeChannels({ goodbye: true });
  }

  /** Cards have no events, so they are read every other second. */
  async #followCards(): Promise<void> {
    this.#changing = this.#takeCards();
    await this.#changing;
    if (this.#stopped) return;
    const sleptFrom = this.#clock.wall();
    this.#cancelCards = this.#clock.after(CARDS_EVERY_MS, () => {
      if (this.#clock.wall() - sleptFrom > 3 * CARDS_EVERY_MS) this.look();
      void this.#followCards();
    });
  }

  async #takeCards(): Promise<void> {
    const cards = await this.#readCards();
    if (this.#stopped) return;
    if (cards !== this.#cards) await this.#change(cards);
    else for (const { card, family } of this.#refused.splice(0)) await this.#open(card, family);
  }

  async #change(cards: NetworkCards): Promise<void> {
    // Without a goodbye: the new announcement replaces the old one, and nobody need think that this member left.
    await this.#closeChannels({ goodbye: false });
    this.#cards = cards;
    editions += 1;
    this.#edition = editions;
    this.#refused = [];
    this.#looks = 0;
    this.#echoed.clear();
    this.#heard.clear();
    for (const card of cards.usable) {
      for (const family of familiesOf(card)) await this.#open(card, family);
    }
    this.#update(this.#directory);
    this.look();
  }

  async #open(card: NetworkCard, family: Family): Promise<void> {
    const { id } = this.#options.self;
    try {
      const channel = await DiscoveryChannel.open({
        card,
        family,
        service: {
          name: id,
          host: `roomful-${id.slice(0, 16)}.local`,
          port: this.#options.self.port,
          txt: this.#text(),
        },
        now: () => this.#clock.now(),
        onAnswer: (answer) => this.#answered(answer),
        onGoodbye: (name) => this.#update(removeMember(this.#directory, name)),
        accepts: (source) => this.#accepts(card.name, source),
      });
      this.#channels.push(channel);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#refused.push({ card, family, why });
    }
  }

  async #closeChannels(how: { goodbye: boolean }): Promise<void> {
    await Promise.all(this.#channels.splice(0).map((channel) => channel.close(how)));
  }

  #text(): Record<string, string> {
    const { pool, build, port } = this.#options.self;
    const announcement: Announcement = {
      pool,
      build,
      port,
      run: this.#run,
      edition: this.#edition,
      addresses: announcedAddresses(this.#cards.usable),
    };
    return encodeAnnouncement(announcement);
  }

  #lookNow(): void {
    this.#cancelLook();
    if (this.#stopped) return;
    this.#looks += 1;
    for (const channel of this.#channels) channel.look();
    this.#update(this.#directory);
    this.#cancelLook = this.#clock.after(this.#waitMs, () => this.#lookNow());
    this.#waitMs = Math.min(2 * this.#waitMs, LOOK_MOST_MS);
  }

  #answered({ name, text, from }: Answer): void {
    const announcement = decodeAnnouncement(text);
    if (announcement === null || this.#stopped) return;
    const card = this.#cardOf(from);
    if (card === null) return;
    const candidates = candidatesOf(announcement, from, this.#cards.usable);
    const { self, wanted, onTwin } = this.#options;
    if (name === self.id) {
      if (announcement.run === this.#run) this.#echoed.add(card);
      else onTwin?.(candidates.map(({ address }) => address));
      return;
    }
    if (announcement.pool !== self.pool || !wanted(name)) return;
    const { build, run, edition } = announcement;
    const sighting = { card, from, at: this.#clock.now(), build, run, edition, candidates };
    this.#update(addSighting(this.#directory, name, sighting));
  }

  /** Whether a packet came by this card, and who was heard there. */
  #accepts(card: string, source: string): boolean {
    const came = this.#cardOf(source);
    if (came !== card && came !== ELSEWHERE) return false;
    const own = this.#cards.usable.some(({ addresses }) => addresses.some(({ host }) => host === source.split('%')[0]));
    if (!own) this.#heard.add(card);
    return true;
  }

  /** The card that a source is reached by; null for one that is skipped, ELSEWHERE for a subnet that is none of ours. */
  #cardOf(source: string): string | null {
    const usable = cardsOf(source, this.#cards.usable)[0];
    if (usable !== undefined) return usable.name;
    return cardsOf(source, this.#cards.skipped).length > 0 ? null : ELSEWHERE;
  }

  /** Takes over a new directory, without what is too old or no longer wanted, and tells what is different. */
  #update(directory: Directory): void {
    if (this.#stopped) return;
    const cards = new Set([ELSEWHERE, ...this.#cards.usable.map(({ name }) => name)]);
    const kept = keepSightings(directory, { cards, since: this.#clock.now() - FORGET_MS });
    this.#directory = new Map([...kept].filter(([id]) => this.#options.wanted(id)));
    const before = this.#found;
    this.#found = foundMembers(this.#directory, this.#cards.usable);
    for (const [id, member] of this.#found) {
      if (JSON.stringify(before.get(id)) !== JSON.stringify(member)) this.#options.onFound(member);
    }
    for (const id of before.keys()) if (!this.#found.has(id)) this.#options.onGone?.(id);
  }
}

/** Where it may be reached: the source of the packet is certain, the rest is what it says. */
function candidatesOf(announcement: Announcement, from: string, cards: readonly NetworkCard[]): Candidate[] {
  const { port, addresses } = announcement;
  const known = addresses.find(({ host }) => host === from) ?? addresses[0];
  // A link-local source is not announced; it is as its other addresses are where those agree.
  const certain = known?.host === from || addresses.every(({ medium }) => medium === known?.medium);
  const source = { host: from, medium: (certain && known?.medium) || 'unknown' } as const;
  return [source, ...addresses].map(({ host, medium }) => ({
    address: formatAddress({ host, port }),
    medium: mediumTo(host, medium, cards),
  }));
}

function familiesOf(card: NetworkCard): Family[] {
  const hosts = card.addresses.map(({ host }) => host);
  return [
    ...(hosts.some((host) => !host.includes(':')) ? (['ipv4'] as const) : []),
    ...(hosts.some((host) => host.includes(':')) ? (['ipv6'] as const) : []),
  ];
}
