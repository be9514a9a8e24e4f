import { deepStrictEqual, ok } from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../testing/eventually.ts';
import { Lan } from '../lan.ts';
import type { LanMachine } from '../lanMachine.ts';
import { LanMember } from './lanMember.ts';

/** What the issue promises of an idle machine may take so many times as long on one that runs tests. */
const ALLOWED = 3;

const NAMES = ['ada', 'bob', 'cyd', 'dan'];

export interface LanPoolOptions {
  /** Started at once, on the machines from 1 on: ada, bob, cyd, dan. */
  members: number;
  /** Machines without a member, behind those. */
  spare?: number;
  /** For each `roomful up`. */
  args?: readonly string[];
  /** What they share, in their order; 1GB where left out. */
  memory?: readonly string[];
}

/** Who leads, and since which epoch. */
export interface Reign {
  leader: string;
  counter: number;
}

/** A LAN with members on it as people start them, and the folder in which their data folders lie. */
export class LanPool {
  readonly lan: Lan;
  readonly folder: string;
  readonly members: readonly LanMember[];

  private constructor(lan: Lan, folder: string, members: readonly LanMember[]) {
    this.lan = lan;
    this.folder = folder;
    this.members = members;
  }

  static async start({ members: count, spare = 0, args = [], memory = [] }: LanPoolOptions): Promise<LanPool> {
    const folder = await mkdtemp(join(tmpdir(), 'roomful-lan-'));
    const lan = await Lan.create(count + spare);
    const members = lan.machines.slice(0, count).map((machine, index) => {
      const name = NAMES[index] ?? `member${index}`;
      return new LanMember(name, machine, join(folder, name));
    });
    const pool = new LanPool(lan, folder, members);
    try {
      await Promise.all(members.map((each, index) => each.up(...args, '--memory', memory[index] ?? '1GB')));
    } catch (cause) {
      await pool.close();
      throw cause;
    }
    return pool;
  }

  /** Member `number`, from 1 on. */
  member(number: number): LanMember {
    const found = this.members[number - 1];
    if (found === undefined) throw new Error(`There is no member ${number}`);
    return found;
  }

  machine(number: number): LanMachine {
    return this.lan.machine(number);
  }

  /** A further member, of a data folder of its own; it is not started. */
  newcomer(name: string, machine: LanMachine): LanMember {
    return new LanMember(name, machine, join(this.folder, `${name}-${machine.number}`));
  }

  /** The first makes a pool and the others join it, all at once; answers the ms from the first `join` to all seeing all. */
  async joinAll(): Promise<number> {
    const [first, ...others] = this.members;
    if (first === undefined) throw new Error('There is nobody to make a pool.');
    await first.run('create', 'Attic');
    const tokens = await Promise.all(others.map(() => first.invite()));
    const since = performance.now();
    await Promise.all(others.map((other, index) => other.join(tokens[index] ?? '')));
    await this.allSee(...this.members.map(({ name }) => `${name} alive`));
    return performance.now() - since;
  }

  async close(): Promise<void> {
    await this.lan.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Waits until every member sees just that, as `NAME STATE`. */
  async allSee(...wanted: string[]): Promise<void> {
    for (const by of this.members) await by.sees(...wanted);
  }
}

/** Waits until all of them name the same one of them as leader. */
export async function oneLeader(among: readonly LanMember[]): Promise<void> {
  await eventually(() => {
    const [leader, ...others] = [...new Set(among.map((by) => by.leader()))];
    deepStrictEqual(others, []);
    ok(among.some(({ id }) => id === leader));
  });
}

/** As oneLeader, and in the same epoch; answers which. */
export async function oneReign(among: readonly LanMember[]): Promise<Reign> {
  await oneLeader(among);
  return eventually(async () => {
    const [one, ...others] = await Promise.all(among.map((by) => by.status()));
    const reign = { leader: one?.coordinator ?? '', counter: one?.epoch?.counter ?? 0 };
    deepStrictEqual(one?.epoch?.coordinator, reign.leader);
    for (const { coordinator, epoch } of others) {
      deepStrictEqual({ coordinator, epoch }, { coordinator: reign.leader, epoch: one?.epoch });
    }
    return reign;
  });
}

/** Says what was measured, and holds it against what is allowed, both ms. */
export function within(ms: number, limitMs: number, what: string): void {
  console.log(`${what}: ${Math.round(ms)} ms (${limitMs} on an idle machine)`);
  ok(ms < ALLOWED * limitMs, `${what}: ${Math.round(ms)} ms`);
}
