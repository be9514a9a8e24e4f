import { expect } from 'vitest';
import { z } from 'zod';
import { foundPool } from '../../../electron/pool/foundPool.ts';
import { openIdentity } from '../../../electron/pool/identity.ts';
import { eventually } from '../../testing/eventually.ts';
import type { LanMachine } from '../lanMachine.ts';
import type { LanProcess } from '../lanProcess.ts';
import { lanProgram } from './lanProgram.ts';

const program = lanProgram('presence');

const viewSchema = z.object({
  members: z.array(
    z.object({ id: z.string(), state: z.string(), incarnation: z.number(), linked: z.boolean(), self: z.boolean() }),
  ),
  coordinator: z.string().nullable(),
  epoch: z.object({ counter: z.number(), coordinator: z.string() }).nullable(),
});
const lineSchema = z.object({ event: z.string(), at: z.number(), value: z.unknown() });

export type SeenView = z.infer<typeof viewSchema>;

/** A machine of the LAN on which a membership runs and nothing else. */
export class PresenceMember {
  readonly id: string;
  readonly machine: LanMachine;
  readonly home: string;
  #process: LanProcess | null = null;

  private constructor(id: string, machine: LanMachine, home: string) {
    this.id = id;
    this.machine = machine;
    this.home = home;
  }

  /** Members of one pool whose CA is kept in the first one's home; they are not started. */
  static async pool(machines: readonly LanMachine[], homes: readonly string[]): Promise<PresenceMember[]> {
    await foundPool(homes[0] ?? '', homes);
    return Promise.all(
      machines.map(async (machine, index) => {
        const home = homes[index] ?? '';
        return new PresenceMember((await openIdentity(home)).id, machine, home);
      }),
    );
  }

  /** `peers`: addresses of the heartbeats of the other members, by id. */
  async start(peers: Record<string, string[]>, shareBytes = 0): Promise<this> {
    const args = [program, this.home, this.machine.ipv4, String(shareBytes), JSON.stringify(peers)];
    this.#process = this.machine.start(process.execPath, args);
    await this.#process.says(/"started"/);
    return this;
  }

  get process(): LanProcess {
    if (this.#process === null) throw new Error(`${this.id} was not started.`);
    return this.#process;
  }

  /** `host:port` of its heartbeat. */
  get address(): string {
    return `${this.machine.ipv4}:${this.events('started')[0]?.value}`;
  }

  events(kind: string): { at: number; value: unknown }[] {
    const lines = this.process.stdout().split('\n').slice(0, -1);
    return lines.map((line) => lineSchema.parse(JSON.parse(line))).filter(({ event }) => event === kind);
  }

  /** Every view since it was started, oldest first. */
  views(): { at: number; view: SeenView }[] {
    return this.events('view').map(({ at, value }) => ({ at, view: viewSchema.parse(value) }));
  }

  view(): SeenView {
    const last = this.views().at(-1);
    if (last === undefined) throw new Error(`${this.id} has said nothing.`);
    return last.view;
  }

  stateOf(other: PresenceMember): string | undefined {
    return this.view().members.find(({ id }) => id === other.id)?.state;
  }

  /** Waits until this one sees another in a state. */
  async sees(other: PresenceMember, state: string): Promise<void> {
    await eventually(() =>
      expect(`${other.machine.number} ${this.stateOf(other)}`).toBe(`${other.machine.number} ${state}`),
    );
  }
}

/** Waits until the members follow that leader. */
export async function follow(leader: PresenceMember, members: readonly PresenceMember[]): Promise<void> {
  const wanted = members.map(({ machine }) => `${machine.number} follows ${leader.id}`);
  await eventually(() => {
    expect(members.map((member) => `${member.machine.number} follows ${member.view().coordinator}`)).toEqual(wanted);
  });
}
