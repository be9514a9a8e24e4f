import type { TlsMaterial } from '../wire/tlsMaterial.ts';
import { systemClock } from './clock.ts';
import { dialMember, type Reached } from './dialMember.ts';
import { type Candidate, mediumTo, rankCandidates } from './discovery/candidate.ts';
import type { NetworkCard } from './discovery/networkCard.ts';
import { PeerRoute } from './peerRoute.ts';
import { parseAddress } from './socketAddress.ts';

/** Who says where a member is: multicast, its invite or somebody else, or the member itself in its heartbeats. */
export type RouteSource = 'found' | 'told' | 'card';

export interface PeerRoutesOptions {
  tls: () => TlsMaterial;
  /** The cards of this machine now. */
  cards: () => readonly NetworkCard[];
  /** Told when the way to a member is known, and whenever it is another one than before. */
  onPinned: (member: string, address: string) => void;
}

interface Way {
  route: PeerRoute;
  said: Map<RouteSource, readonly Candidate[]>;
}

/** The ways to all other members, each the winner of a race between all addresses that anyone has named. */
export class PeerRoutes {
  readonly #options: PeerRoutesOptions;
  readonly #ways = new Map<string, Way>();

  constructor(options: PeerRoutesOptions) {
    this.#options = options;
  }

  /** Takes what a source says now in place of what it said before. */
  say(member: string, source: RouteSource, candidates: readonly Candidate[]): void {
    const way = this.#wayTo(member);
    way.said.set(source, candidates);
    way.route.update(rankCandidates([...way.said.values()].flat(), this.#options.cards()));
  }

  /** As `say`, of addresses (`host:port`) of whose medium nothing is known. */
  sayAddresses(member: string, source: RouteSource, addresses: readonly string[]): void {
    const cards = this.#options.cards();
    const candidates = addresses.flatMap((address) => {
      const host = parseAddress(address)?.host;
      return host === undefined ? [] : [{ address, medium: mediumTo(host, 'unknown', cards) }];
    });
    this.say(member, source, candidates);
  }

  /** `host:port` of the control plane that won; null while none has. */
  addressOf(member: string): string | null {
    return this.#ways.get(member)?.route.pinned?.address ?? null;
  }

  /** As addressOf, after a race where there is no winner. Throws NoAddressAnswered. */
  reach(member: string): Promise<string> {
    return this.#wayTo(member).route.address();
  }

  /** What led to a member does so no more; another address is looked for at once. */
  died(member: string): void {
    const address = this.addressOf(member);
    if (address !== null) this.#ways.get(member)?.route.died(address);
  }

  forget(member: string): void {
    this.#ways.get(member)?.route.close();
    this.#ways.delete(member);
  }

  close(): void {
    for (const member of [...this.#ways.keys()]) this.forget(member);
  }

  #wayTo(member: string): Way {
    const known = this.#ways.get(member);
    if (known !== undefined) return known;
    const { tls, onPinned } = this.#options;
    const dial = (address: string, signal: AbortSignal): Promise<Reached> =>
      dialMember({ address, member, tls: tls(), signal });
    const route = new PeerRoute({ dial, clock: systemClock, onPinned: ({ address }) => onPinned(member, address) });
    const way: Way = { route, said: new Map() };
    this.#ways.set(member, way);
    return way;
  }
}
