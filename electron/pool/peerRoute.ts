import { isFaster, raceAddresses } from './addressRace.ts';
import type { Clock } from './clock.ts';
import type { Reached } from './dialMember.ts';
import type { Candidate } from './discovery/candidate.ts';

/** The address that leads to a member, and the two ends that a connection to it has. */
export interface Route extends Candidate, Reached {}

export interface PeerRouteOptions {
  /** Resolves when the member itself answers there, see dialMember. */
  dial: (address: string, signal: AbortSignal) => Promise<Reached>;
  /** Told when the route is known, and whenever it is another one than before. */
  onPinned?: (route: Route) => void;
  clock: Clock;
}

/**
 * The way to one member: of all its addresses the one that won the race, kept until it dies, so that everything takes the
 * same. A better medium that turns up later (a cable is plugged in) takes over for what is opened from then on.
 */
export class PeerRoute {
  readonly #options: PeerRouteOptions;
  readonly #closed = new AbortController();
  #candidates: readonly Candidate[] = [];
  #pinned: Route | null = null;
  /** The race for any address, and the one for a better address than the pinned one. */
  #race: Promise<Route> | null = null;
  #upgrade: Promise<Route> | null = null;
  /** Turned up while a race ran. */
  #fresh: Candidate[] = [];

  constructor(options: PeerRouteOptions) {
    this.#options = options;
  }

  /** The winner, null while there is none. */
  get pinned(): Route | null {
    return this.#pinned;
  }

  /** All addresses by which the member may be reached now, best first. New ones are tried at once where that may help. */
  update(candidates: readonly Candidate[]): void {
    const known = new Map(this.#candidates.map(({ address, medium }) => [address, medium]));
    this.#candidates = candidates;
    this.#fresh.push(...candidates.filter(({ address, medium }) => known.get(address) !== medium));
    this.#tryFresh();
  }

  /** The address that leads to the member; races for it when none is pinned. Throws NoAddressAnswered. */
  async address(): Promise<string> {
    if (this.#pinned !== null) return this.#pinned.address;
    return (await (this.#race ?? this.#startRace())).address;
  }

  /** A connection by this address broke: when it is the pinned one, the race is run again, at once. */
  died(address: string): void {
    if (this.#pinned?.address !== address) return;
    this.#pinned = null;
    if (this.#race === null) inBackground(this.#startRace());
  }

  /** Ends the races that run; `address` rejects from then on unless a route is pinned. */
  close(): void {
    this.#closed.abort(new Error('The way to this member is closed.'));
  }

  #tryFresh(): void {
    if (this.#fresh.length === 0 || this.#race !== null || this.#upgrade !== null || this.#closed.signal.aborted)
      return;
    const pinned = this.#pinned;
    const faster = this.#fresh.filter((candidate) => pinned !== null && isFaster(candidate, pinned));
    if (pinned === null) {
      inBackground(this.#startRace());
    } else if (faster.length > 0) {
      const upgrade = this.#run(faster).finally(() => {
        this.#upgrade = null;
        this.#tryFresh();
      });
      this.#upgrade = upgrade;
      inBackground(upgrade);
    }
    this.#fresh = [];
  }

  #startRace(): Promise<Route> {
    this.#fresh = [];
    const race = this.#run(this.#candidates).finally(() => {
      this.#race = null;
      this.#tryFresh();
    });
    this.#race = race;
    return race;
  }

  async #run(candidates: readonly Candidate[]): Promise<Route> {
    const { dial, clock, onPinned } = this.#options;
    const { candidate, connection } = await raceAddresses({
      candidates,
      dial: ({ address }, signal) => dial(address, signal),
      // A dial closes its connection by itself.
      discard: () => {},
      clock,
      signal: this.#closed.signal,
    });
    if (this.#pinned !== null && !isFaster(candidate, this.#pinned)) return this.#pinned;
    const route = { ...candidate, ...connection };
    this.#pinned = route;
    onPinned?.(route);
    return route;
  }
}

/** Whoever needs the address asks for it, and is told then why there is none. */
function inBackground(race: Promise<Route>): void {
  race.catch(() => {});
}
