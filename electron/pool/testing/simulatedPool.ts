import { compareEpochs } from '../../wire/epoch.ts';
import type { Epoch } from '../../wire/generated/roomful/v1/ring.ts';
import type { MembershipEffect } from '../membershipEvents.ts';
import { type MembershipState, startingState } from '../membershipState.ts';
import type { Liveness, MembershipView } from '../membershipView.ts';
import type { MemberCard } from '../presenceRecord.ts';
import { SimulatedNetwork, type Weather } from './simulatedNetwork.ts';
import { SimulatedProcess } from './simulatedProcess.ts';
import { SimulatedTime } from './simulatedTime.ts';

interface Disk {
  incarnation: number;
  epoch: Epoch | null;
}

/** A pool whose network, disks and clocks are simulated; only the reducer is real. Everything follows from the seed. */
export class SimulatedPool {
  /** Every leader that a member came to follow. */
  readonly history: { at: number; id: string; coordinator: string | null; epoch: Epoch | null }[] = [];
  /** Every member that one member held for lost. */
  readonly losses: { at: number; by: string; lost: string }[] = [];
  readonly #roster = new Set<string>();
  readonly #cards = new Map<string, MemberCard>();
  readonly #disks = new Map<string, Disk>();
  readonly #processes = new Map<string, SimulatedProcess>();
  readonly #time: SimulatedTime;
  readonly #network: SimulatedNetwork;
  #runs = 0;

  constructor(ids: readonly string[], seed = 1) {
    this.#time = new SimulatedTime(seed);
    this.#network = new SimulatedNetwork(this.#time, (host) => this.#processes.get(host));
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
      process.take({ type: 'peerAdded', peer: id, addresses: [`${id}:1`] });
    }
    this.restart(id);
  }

  remove(id: string): void {
    this.#roster.delete(id);
    this.kill(id);
    for (const process of this.#processes.values()) process.take({ type: 'peerRemoved', peer: id });
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
  twin(id: string): SimulatedProcess {
    const process = this.#startProcess(id, { ...this.#diskOf(id) });
    this.#processes.set(`${id}'`, process);
    return process;
  }

  /** A member begins an epoch of its own choice, as no honest one does. */
  usurp(id: string, counter: number): void {
    const process = this.#processOf(id);
    const epoch = { counter, coordinator: id };
    process.state = { ...process.state, pending: { epoch, own: true } };
    process.take({ type: 'persisted', epoch });
  }

  kill(id: string): void {
    const process = this.#processes.get(id);
    if (process === undefined) return;
    process.running = false;
    this.#processes.delete(id);
    this.#network.closeAll(process);
  }

  leave(id: string): void {
    const process = this.#processes.get(id);
    if (process === undefined) return;
    process.take({ type: 'leave' });
    this.#time.after(50, () => {
      if (this.#processes.get(id) === process) this.kill(id);
    });
  }

  /** See SimulatedProcess. */
  stop(id: string, ms: number): void {
    this.#processes.get(id)?.stop(ms);
  }

  /** See SimulatedProcess. */
  sleep(id: string, ms: number): void {
    this.#processes.get(id)?.sleep(ms);
  }

  card(id: string, changes: Partial<MemberCard>): void {
    const card = { ...this.cardOf(id), ...changes };
    this.#cards.set(id, card);
    const process = this.#processes.get(id);
    if (process !== undefined) process.take({ type: 'card', card });
  }

  progress(by: string, peer: string): void {
    this.#processOf(by).take({ type: 'progress', peer });
  }

  get weather(): Weather {
    return this.#network.weather;
  }

  cut(a: string, b: string): void {
    this.#network.cut(a, b);
  }

  heal(a: string, b: string): void {
    this.#network.heal(a, b);
  }

  healAll(): void {
    this.#network.healAll();
  }

  /** Cuts every link between the named members and the others. */
  split(half: readonly string[]): void {
    for (const a of half) for (const b of this.#roster) if (!half.includes(b)) this.cut(a, b);
  }

  /** Something between two members breaks their connections and refuses every new one in the other's name. */
  refuse(a: string, b: string): void {
    this.#network.refuse(a, b);
    this.#network.reset(a, b);
  }

  /** Something between two members breaks their connections. */
  reset(a: string, b: string): void {
    this.#network.reset(a, b);
  }

  run(ms: number): this {
    this.#time.run(ms);
    return this;
  }

  /** Runs until `holds`, and tells after how many ms; throws after `limitMs`. */
  runUntil(holds: () => boolean, limitMs: number): number {
    const from = this.#time.now;
    while (!holds()) {
      if (this.#time.now - from >= limitMs) throw new Error(`Not so after ${limitMs} ms: ${holds}`);
      this.run(10);
    }
    return this.#time.now - from;
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
          if (this.#network.isCut(a, b)) continue;
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
      multicast: true,
      hosts: [id],
      controlPort: 2,
      rosterVersion: 1,
    });
  }

  #startProcess(id: string, disk: Disk): SimulatedProcess {
    const run = `run-${String(this.#runs++).padStart(6, '0')}`;
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
    const state = startingState({ at: this.#time.now, own, epoch: disk.epoch, peers, poolMadeMs: 1e12 });
    const process = new SimulatedProcess(this.#time, state, (...performed) => this.#perform(...performed));
    process.tick();
    return process;
  }

  #perform(process: SimulatedProcess, effect: MembershipEffect, before: MembershipView): void {
    switch (effect.type) {
      case 'send':
        for (const link of effect.links) this.#network.send(process, link, effect);
        break;
      case 'dial':
        for (const address of effect.addresses) this.#network.dial(process, effect.peer, address);
        break;
      case 'closeLink':
        this.#network.close(process, effect.link);
        break;
      case 'persist':
        this.#time.after(this.#network.delay(), () => {
          if (!process.running) return;
          const disk = this.#diskOf(process.id);
          if (compareEpochs(effect.epoch, disk.epoch ?? NONE) > 0) disk.epoch = effect.epoch;
          process.take({ type: 'persisted', epoch: effect.epoch });
        });
        break;
      case 'changed':
        this.#note(process, before, effect.view);
        break;
      case 'twin':
        process.twins += 1;
    }
  }

  #note(process: SimulatedProcess, before: MembershipView, { coordinator, epoch, members }: MembershipView): void {
    if (coordinator !== before.coordinator)
      this.history.push({ at: this.#time.now, id: process.id, coordinator, epoch });
    for (const { id, state } of members) {
      const old = before.members.find((member) => member.id === id)?.state;
      if (state === 'lost' && old !== 'lost') this.losses.push({ at: this.#time.now, by: process.id, lost: id });
    }
  }

  #processOf(id: string): SimulatedProcess {
    const process = this.#processes.get(id);
    if (process === undefined) throw new Error(`${id} does not run.`);
    return process;
  }

  #diskOf(id: string): Disk {
    const disk = this.#disks.get(id) ?? { incarnation: 0, epoch: null };
    this.#disks.set(id, disk);
    return disk;
  }
}

/** A pool of members a, b, c ... in which `a` leads. */
export function formedPool(size: number, seed = 1): SimulatedPool {
  const pool = new SimulatedPool('abcdefgh'.slice(0, size).split(''), seed);
  pool.card('a', { shareBytes: 9 });
  pool.start().run(5000);
  if (pool.leaderFor() !== 'a') throw new Error('This pool did not form.');
  return pool;
}

const NONE: Epoch = { counter: 0, coordinator: '' };
