import { compareEpochs } from '../../wire/epoch.ts';
import type { Epoch } from '../../wire/generated/roomful/v1/ring.ts';
import type { MembershipEffect, MembershipEvent } from '../membershipEvents.ts';
import { type MembershipState, startingState } from '../membershipState.ts';
import { TICK_MS } from '../membershipTimings.ts';
import type { Liveness, MembershipView } from '../membershipView.ts';
import type { MemberCard } from '../presenceRecord.ts';
import { reduceMembership } from '../reduceMembership.ts';

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

interface Disk {
  incarnation: number;
  epoch: Epoch | null;
}

interface Process {
  id: string;
  state: MembershipState;
  running: boolean;
  /** Stopped: what happens to it meanwhile waits here. */
  backlog: (() => void)[] | null;
  asleep: boolean;
  /** How long its clock stood still, ms. */
  clockLag: number;
  twins: number;
}

interface Link {
  name: string;
  ends: [Process, Process];
  open: Set<Process>;
}

type Untimed<E> = E extends MembershipEvent ? Omit<E, 'at'> : never;

/** A pool whose network, disks and clocks are simulated; only the reducer is real. Everything follows from the seed. */
export class SimulatedPool {
  now = 0;
  readonly weather: Weather = { delayMs: 5, loss: 0, repeat: 0 };
  /** Every leader that a member came to follow. */
  readonly history: { at: number; id: string; coordinator: string | null; epoch: Epoch | null }[] = [];
  /** Every member that one member held for lost. */
  readonly losses: { at: number; by: string; lost: string }[] = [];
  readonly #roster = new Set<string>();
  readonly #cards = new Map<string, MemberCard>();
  readonly #disks = new Map<string, Disk>();
  readonly #processes = new Map<string, Process>();
  readonly #cut = new Set<string>();
  readonly #refusing = new Set<string>();
  readonly #links = new Map<string, Link>();
  #queue: { at: number; order: number; run: () => void }[] = [];
  #order = 0;
  #random: number;

  constructor(ids: readonly string[], seed = 1) {
    this.#random = seed;
    for (const id of ids) this.#enrol(id);
  }

  /** Starts members of the pool, all when none is named. */
  start(...ids: string[]): this {
    for (const id of ids.length > 0 ? ids : this.#roster) this.restart(id);
    return this;
  }

  /** A new member: in the roster of all, and started. */
  join(id: string): void {
    this.#enrol(id);
    for (const process of this.#processes.values()) {
      this.#dispatch(process, { type: 'peerAdded', peer: id, addresses: [`${id}:1`] });
    }
    this.restart(id);
  }

  remove(id: string): void {
    this.#roster.delete(id);
    this.kill(id);
    for (const process of this.#processes.values()) this.#dispatch(process, { type: 'peerRemoved', peer: id });
  }

  restart(id: string): void {
    this.kill(id);
    const disk = this.#diskOf(id);
    disk.incarnation += 1;
    this.#processes.set(id, this.#startProcess(id, disk));
  }

  /** Puts the disk back to what it was at the first start. */
  wipe(id: string): void {
    this.#disks.set(id, { incarnation: 0, epoch: null });
  }

  /** A second process with the identity of a member, on another machine; named `id'` in this simulation's network. */
  twin(id: string): Process {
    const process = this.#startProcess(id, { ...this.#diskOf(id) });
    this.#processes.set(`${id}'`, process);
    return process;
  }

  kill(id: string): void {
    const process = this.#processes.get(id);
    if (process === undefined) return;
    process.running = false;
    this.#processes.delete(id);
    for (const link of this.#linksOf(process)) this.#endLink(link, process);
  }

  leave(id: string): void {
    const process = this.#processes.get(id);
    if (process === undefined) return;
    this.#dispatch(process, { type: 'leave' });
    this.after(50, () => {
      if (this.#processes.get(id) === process) this.kill(id);
    });
  }

  /** SIGSTOP for that long, ms: its clock goes on, and its kernel takes what comes. */
  stop(id: string, ms: number): void {
    const process = this.#processes.get(id);
    if (process === undefined || process.backlog !== null) return;
    process.backlog = [];
    this.after(ms, () => {
      const backlog = process.backlog ?? [];
      process.backlog = null;
      for (const run of backlog) run();
    });
  }

  /** A closed lid for that long, ms: its clock stands still, and nothing reaches it. */
  sleep(id: string, ms: number): void {
    const process = this.#processes.get(id);
    if (process === undefined || process.backlog !== null) return;
    process.asleep = true;
    process.clockLag += ms;
    this.stop(id, ms);
    this.after(ms, () => {
      process.asleep = false;
    });
  }

  card(id: string, changes: Partial<MemberCard>): void {
    const card = { ...this.cardOf(id), ...changes };
    this.#cards.set(id, card);
    const process = this.#processes.get(id);
    if (process !== undefined) this.#dispatch(process, { type: 'card', card });
  }

  progress(by: string, peer: string): void {
    this.#dispatch(this.#processOf(by), { type: 'progress', peer });
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

  /** Cuts every link between the named members and the others. */
  split(half: readonly string[]): void {
    for (const a of half) for (const b of this.#roster) if (!half.includes(b)) this.cut(a, b);
  }

  /** Something between two members breaks their connections and refuses every new one in the other's name. */
  refuse(a: string, b: string): void {
    this.#refusing.add(pairOf(a, b));
    this.reset(a, b);
  }

  /** Something between two members breaks their connections. */
  reset(a: string, b: string): void {
    const ends = [this.#processOf(a), this.#processOf(b)];
    for (const link of this.#links.values()) {
      if (!link.ends.every((end) => ends.includes(end))) continue;
      this.#links.delete(link.name);
      const open = [...link.open];
      link.open.clear();
      for (const end of open) {
        this.#arrive(end, { type: 'linkDown', peer: otherEnd(link, end).id, link: link.name });
      }
    }
  }

  run(ms: number): this {
    const until = this.now + ms;
    for (let next = this.#queue[0]; next !== undefined && next.at <= until; next = this.#queue[0]) {
      this.#queue.shift();
      this.now = next.at;
      next.run();
    }
    this.now = until;
    return this;
  }

  /** Runs until `holds`, and tells after how many ms; throws after `limitMs`. */
  runUntil(holds: () => boolean, limitMs: number): number {
    const from = this.now;
    while (!holds()) {
      if (this.now - from >= limitMs) throw new Error(`Not so after ${limitMs} ms: ${holds}`);
      this.run(10);
    }
    return this.now - from;
  }

  after(ms: number, run: () => void): void {
    const entry = { at: this.now + ms, order: this.#order++, run };
    let low = 0;
    let high = this.#queue.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#queue[middle]?.at ?? 0) <= entry.at) low = middle + 1;
      else high = middle;
    }
    this.#queue.splice(low, 0, entry);
  }

  cardOf(id: string): MemberCard {
    const card = this.#cards.get(id);
    if (card === undefined) throw new Error(`${id} was never in this pool.`);
    return card;
  }

  running(): string[] {
    return [...this.#processes.keys()];
  }

  stateOf(id: string): MembershipState {
    return this.#processOf(id).state;
  }

  viewOf(id: string): MembershipView {
    return this.stateOf(id).view;
  }

  livenessOf(id: string, by: string): Liveness | undefined {
    return this.viewOf(by).members.find((member) => member.id === id)?.state;
  }

  /** The leader that all the named members follow; undefined while they do not agree. */
  leaderFor(ids: readonly string[] = this.running()): string | null | undefined {
    const leaders = new Set(ids.map((id) => this.viewOf(id).coordinator));
    const [leader] = leaders;
    return leaders.size === 1 ? leader : undefined;
  }

  /** Running members that can reach each other, over others too. */
  components(): string[][] {
    const left = new Set(this.running());
    const components: string[][] = [];
    for (const id of left) {
      const component = [id];
      left.delete(id);
      for (const a of component) {
        for (const b of left) {
          if (this.#cut.has(pairOf(a, b))) continue;
          component.push(b);
          left.delete(b);
        }
      }
      components.push(component);
    }
    return components;
  }

  /** How often a process was told of a twin. */
  twinsOf(id: string): number {
    return this.#processOf(id).twins;
  }

  #enrol(id: string): void {
    this.#roster.add(id);
    this.#disks.set(id, { incarnation: 0, epoch: null });
    this.#cards.set(id, {
      name: id,
      build: 'b',
      wireVersion: 1,
      shareBytes: 1,
      pinned: false,
      abstains: false,
      hosts: [id],
      controlPort: 2,
      rosterVersion: 1,
    });
  }

  #startProcess(id: string, disk: Disk): Process {
    const run = `run-${String(this.#order++).padStart(6, '0')}`;
    const own = {
      member: id,
      incarnation: disk.incarnation,
      run,
      sequence: 0,
      left: false,
      leads: 0,
      heartbeatPort: 1,
      card: this.cardOf(id),
    };
    const others = [...this.#roster].filter((other) => other !== id);
    const peers = new Map(others.map((other) => [other, [`${other}:1`]]));
    const state = startingState({ at: this.now, own, epoch: disk.epoch, peers });
    const process = { id, state, running: true, backlog: null, asleep: false, clockLag: 0, twins: 0 };
    const tick = (): void => {
      if (!process.running) return;
      this.#dispatch(process, { type: 'tick', wall: 1e12 + this.now });
      this.after(TICK_MS, tick);
    };
    tick();
    return process;
  }

  /** Something comes over the network: nothing does while the machine sleeps. */
  #arrive(process: Process, event: Untimed<MembershipEvent>): void {
    if (!process.asleep) this.#dispatch(process, event);
  }

  #dispatch(process: Process, event: Untimed<MembershipEvent>): void {
    if (!process.running) return;
    if (process.backlog !== null) {
      // A timer that is due more than once fires once.
      if (event.type !== 'tick') process.backlog.push(() => this.#dispatch(process, event));
      return;
    }
    const before = process.state;
    const { state, effects } = reduceMembership(before, { ...event, at: this.now - process.clockLag });
    process.state = state;
    if (compareEpochs(state.epoch ?? NONE, before.epoch ?? NONE) < 0) throw new Error(`${process.id} went back.`);
    for (const effect of effects) this.#perform(process, effect, before.view);
  }

  #perform(process: Process, effect: MembershipEffect, before: MembershipView): void {
    switch (effect.type) {
      case 'send':
        for (const name of effect.links) this.#send(process, name, effect);
        break;
      case 'dial':
        for (const address of effect.addresses)
          this.after(this.#delay(), () => this.#dial(process, effect.peer, address));
        break;
      case 'closeLink': {
        const link = this.#links.get(effect.link);
        if (link !== undefined) this.#endLink(link, process);
        break;
      }
      case 'persist':
        this.after(this.#delay(), () => {
          if (!process.running) return;
          const disk = this.#diskOf(process.id);
          if (compareEpochs(effect.epoch, disk.epoch ?? NONE) > 0) disk.epoch = effect.epoch;
          this.#dispatch(process, { type: 'persisted', epoch: effect.epoch });
        });
        break;
      case 'changed':
        this.#note(process, before, effect.view);
        break;
      case 'twin':
        process.twins += 1;
    }
  }

  #note(process: Process, before: MembershipView, { coordinator, epoch, members }: MembershipView): void {
    if (coordinator !== before.coordinator) this.history.push({ at: this.now, id: process.id, coordinator, epoch });
    for (const { id, state } of members) {
      const old = before.members.find((member) => member.id === id)?.state;
      if (state === 'lost' && old !== 'lost') this.losses.push({ at: this.now, by: process.id, lost: id });
    }
  }

  #send(process: Process, name: string, { beat }: MembershipEffect & { type: 'send' }): void {
    const link = this.#links.get(name);
    if (link === undefined || !link.open.has(process)) return;
    const other = otherEnd(link, process);
    if (!link.open.has(other)) {
      // The other end was closed while this one slept: its kernel says so.
      this.#endLink({ ...link, open: new Set([other, process]) }, other);
      return;
    }
    const copies = this.#chance() < this.weather.loss ? 0 : this.#chance() < this.weather.repeat ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      if (this.#blocked(process, other)) return;
      this.after(this.#delay(), () => {
        if (this.#blocked(process, other) || !link.open.has(other)) return;
        this.#arrive(other, { type: 'beat', peer: process.id, link: name, beat });
      });
    }
  }

  #dial(process: Process, peer: string, address: string): void {
    const target = this.#processes.get(address.split(':')[0] ?? '');
    const fail = (): void => this.#dispatch(process, { type: 'dialFailed', peer });
    const pair = pairOf(process.id, peer);
    if (this.#refusing.has(pair) || (target === undefined && !this.#cut.has(pair))) {
      this.#dispatch(process, { type: 'dialRefused', peer, address });
      fail();
      return;
    }
    const silent = target === undefined || target.backlog !== null || target.asleep || this.#blocked(process, target);
    if (silent) {
      this.after(DIAL_TIMEOUT_MS, fail);
      return;
    }
    if (!target.state.peers.has(process.id)) {
      fail();
      return;
    }
    const name = `link-${this.#order++}`;
    const link: Link = { name, ends: [process, target], open: new Set([process, target]) };
    this.#links.set(name, link);
    this.#arrive(target, { type: 'linkUp', peer: process.id, link: name, host: process.id, port: null });
    this.after(this.#delay(), () =>
      this.#arrive(process, { type: 'linkUp', peer, link: name, host: target.id, port: 1 }),
    );
  }

  /** One end closes; the other one hears of it if the network and its sleep let it. */
  #endLink(link: Link, end: Process): void {
    const other = otherEnd(link, end);
    if (!link.open.delete(end)) return;
    if (link.open.size === 0) this.#links.delete(link.name);
    if (this.#blocked(end, other) || other.asleep) return;
    this.after(this.#delay(), () => {
      if (!link.open.delete(other)) return;
      this.#links.delete(link.name);
      this.#arrive(other, { type: 'linkDown', peer: end.id, link: link.name });
    });
  }

  #linksOf(process: Process): Link[] {
    return [...this.#links.values()].filter(({ ends }) => ends.includes(process));
  }

  #blocked(a: Process, b: Process): boolean {
    return this.#cut.has(pairOf(a.id, b.id));
  }

  #processOf(id: string): Process {
    const process = this.#processes.get(id);
    if (process === undefined) throw new Error(`${id} does not run.`);
    return process;
  }

  #diskOf(id: string): Disk {
    const disk = this.#disks.get(id) ?? { incarnation: 0, epoch: null };
    this.#disks.set(id, disk);
    return disk;
  }

  #delay(): number {
    return 1 + Math.floor(this.#chance() * this.weather.delayMs);
  }

  /** Mulberry32: 0 to 1. */
  #chance(): number {
    this.#random = (this.#random + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#random ^ (this.#random >>> 15), 1 | this.#random);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }
}

const NONE: Epoch = { counter: 0, coordinator: '' };

function pairOf(a: string, b: string): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}

function otherEnd({ ends: [a, b] }: Link, end: Process): Process {
  return end === a ? b : a;
}
