import { expect } from 'vitest';
import { z } from 'zod';
import { eventually } from '../../testing/eventually.ts';
import type { LanMachine } from '../lanMachine.ts';
import type { LanProcess } from '../lanProcess.ts';
import { lanProgram } from './lanProgram.ts';

const program = lanProgram('discover');

const lineSchema = z.object({ event: z.string(), value: z.unknown() });
const foundSchema = z.object({
  id: z.string(),
  build: z.string(),
  candidates: z.array(z.object({ address: z.string(), medium: z.string() })),
});
const factsSchema = z.object({
  looks: z.number(),
  cards: z.array(z.string()),
  skipped: z.array(z.string()),
  open: z.array(z.string()),
  refused: z.array(z.object({ card: z.string(), why: z.string() })),
  unsent: z.array(z.object({ card: z.string(), why: z.string() })),
  echoed: z.array(z.string()),
  heard: z.array(z.string()),
  dropped: z.number(),
});

/** A machine of the LAN that runs discovery and nothing else. */
export class Discoverer {
  readonly id: string;
  readonly process: LanProcess;

  private constructor(id: string, process: LanProcess) {
    this.id = id;
    this.process = process;
  }

  static async start(machine: LanMachine, id: string, { pool = 'pool-1' } = {}): Promise<Discoverer> {
    const port = 7000 + machine.number;
    const started = machine.start(process.execPath, [program, id, pool, String(port)]);
    await started.says(/"started"/);
    return new Discoverer(id, started);
  }

  /** The values of all events of a kind so far. */
  events(kind: string): unknown[] {
    const lines = this.process.stdout().split('\n').slice(0, -1);
    return lines
      .map((line) => lineSchema.parse(JSON.parse(line)))
      .filter(({ event }) => event === kind)
      .map(({ value }) => value);
  }

  /** The addresses by which it knows a member now, best first; waits until they are `enough`. */
  async addressesOf(id: string, enough = (addresses: string[]): boolean => addresses.length > 0): Promise<string[]> {
    return eventually(() => {
      const last = this.events('found')
        .map((value) => foundSchema.parse(value))
        .findLast((member) => member.id === id);
      const addresses = last?.candidates.map(({ address }) => address) ?? [];
      if (!enough(addresses)) expect.fail(`${this.id} knows ${id} by [${addresses}] only: ${this.process.stderr()}`);
      return addresses;
    });
  }

  async facts(): Promise<z.infer<typeof factsSchema>> {
    const before = this.events('facts').length;
    this.process.write('facts\n');
    return eventually(() => factsSchema.parse(this.events('facts')[before]));
  }

  look(): void {
    this.process.write('look\n');
  }
}
