import type { MembershipEffect, MembershipEvent } from '../membershipEvents.ts';
import type { MembershipState } from '../membershipState.ts';
import type { SimulatedTime } from './simulatedTime.ts';

/** A dial that nobody answers gives up after this, ms; so does the real one. */
const DIAL_TIMEOUT_MS = 2500;

export interface Weather {
  /** Longest way of a message, ms; each takes its own time, so they overtake each other. */
  delayMs: number;
  /** Part of the beats that is lost, 0 to 1. */
  loss: number;
  /** Part of the beats that arrives twice. */
  repeat: number;
}

export type Untimed<E> = E extends MembershipEvent ? Omit<E, 'at'> : never;

/** What the network sees of a process. */
export interface NetworkEnd {
  readonly id: string;
  readonly state: MembershipState;
  /** Does not answer, although its kernel takes what comes. */
  readonly stopped: boolean;
  /** Nothing reaches it. */
  readonly asleep: boolean;
  take(event: Untimed<MembershipEvent>): void;
}

interface Link {
  name: string;
  ends: [NetworkEnd, NetworkEnd];
  open: Set<NetworkEnd>;
}

/** Connections between simulated processes, and all that can happen to them. */
export class SimulatedNetwork {
  readonly weather: Weather = { delayMs: 5, loss: 0, repeat: 0 };
  readonly #cut = new Set<string>();
  readonly #refusing = new Set<string>();
  readonly #links = new Map<string, Link>();
  readonly #dials = new Map<string, symbol>();
  readonly #time: SimulatedTime;
  readonly #endAt: (host: string) => NetworkEnd | undefined;
  #names = 0;

  /** `endAt` finds what runs on a host. */
  constructor(time: SimulatedTime, endAt: (host: string) => NetworkEnd | undefined) {
    this.#time = time;
    this.#endAt = endAt;
  }

  cut(a: string, b: string): void {
    this.#cut.add(pairOf(a, b));
  }

  heal(a: string, b: string): void {
    this.#cut.delete(pairOf(a, b));
  }

  healAll(): void {
    this.#cut.clear();
  }

  isCut(a: string, b: string): boolean {
    return this.#cut.has(pairOf(a, b));
  }

  /** Every new connection between two members is refused in the other's name. */
  refuse(a: string, b: string): void {
    this.#refusing.add(pairOf(a, b));
  }

  /** Something between two members breaks their connections. */
  reset(a: string, b: string): void {
    for (const { name, ends, open } of [...this.#links.values()]) {
      if (!ends.every(({ id }) => id === a || id === b)) continue;
      this.#links.delete(name);
      const told = [...open];
      open.clear();
      for (const end of told) this.#arrive(end, { type: 'linkDown', peer: otherEnd(ends, end).id, link: name });
    }
  }

  send(from: NetworkEnd, name: string, { beat }: MembershipEffect & { type: 'send' }): void {
    const link = this.#links.get(name);
    if (link === undefined || !link.open.has(from)) return;
    const other = otherEnd(link.ends, from);
    if (!link.open.has(other)) {
      // The other end was closed while this one slept: its kernel says so.
      this.#end({ ...link, open: new Set([other, from]) }, other);
      return;
    }
    const { loss, repeat } = this.weather;
    const copies = this.#time.chance() < loss ? 0 : this.#time.chance() < repeat ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      if (this.isCut(from.id, other.id)) return;
      this.#time.after(this.delay(), () => {
        if (this.isCut(from.id, other.id) || !link.open.has(other)) return;
        this.#arrive(other, { type: 'beat', peer: from.id, link: name, beat });
      });
    }
  }

  dial(from: NetworkEnd, peer: string, address: string): void {
    const dial = Symbol(address);
    const pair = `${from.id} ${peer}`;
    this.#dials.set(pair, dial);
    // One that was given up for another says no more.
    const isWanted = (): boolean => this.#dials.get(pair) === dial;
    const fail = (): void => {
      if (isWanted()) from.take({ type: 'dialFailed', peer });
    };
    this.#time.after(this.delay(), () => {
      const target = this.#endAt(address.split(':')[0] ?? '');
      const isCut = this.isCut(from.id, peer);
      if (this.#refusing.has(pairOf(from.id, peer)) || (target === undefined && !isCut)) {
        if (isWanted()) from.take({ type: 'dialRefused', peer, address });
        fail();
      } else if (target === undefined || target.stopped || target.asleep || isCut) {
        this.#time.after(DIAL_TIMEOUT_MS, fail);
      } else if (target.state.peers.has(from.id)) {
        this.#connect(from, target);
      } else {
        fail();
      }
    });
  }

  /** One end closes; the other one hears of it if the network and its sleep let it. */
  close(end: NetworkEnd, name: string): void {
    const link = this.#links.get(name);
    if (link !== undefined) this.#end(link, end);
  }

  closeAll(end: NetworkEnd): void {
    for (const link of [...this.#links.values()]) if (link.ends.includes(end)) this.#end(link, end);
  }

  /** How long the next message takes, ms. */
  delay(): number {
    return 1 + Math.floor(this.#time.chance() * this.weather.delayMs);
  }

  #connect(from: NetworkEnd, target: NetworkEnd): void {
    const link = `link-${this.#names++}`;
    this.#links.set(link, { name: link, ends: [from, target], open: new Set([from, target]) });
    this.#arrive(target, { type: 'linkUp', peer: from.id, link, host: from.id, port: null });
    this.#time.after(this.delay(), () =>
      this.#arrive(from, { type: 'linkUp', peer: target.id, link, host: target.id, port: 1 }),
    );
  }

  #end(link: Link, end: NetworkEnd): void {
    const other = otherEnd(link.ends, end);
    if (!link.open.delete(end)) return;
    if (link.open.size === 0) this.#links.delete(link.name);
    if (this.isCut(end.id, other.id) || other.asleep) return;
    this.#time.after(this.delay(), () => {
      if (!link.open.delete(other)) return;
      this.#links.delete(link.name);
      this.#arrive(other, { type: 'linkDown', peer: end.id, link: link.name });
    });
  }

  #arrive(end: NetworkEnd, event: Untimed<MembershipEvent>): void {
    if (!end.asleep) end.take(event);
  }
}

function pairOf(a: string, b: string): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}

function otherEnd([a, b]: Link['ends'], end: NetworkEnd): NetworkEnd {
  return end === a ? b : a;
}
