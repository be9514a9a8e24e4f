import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { z } from 'zod';
import { eventually } from '../../testing/eventually.ts';
import type { LanMachine } from '../lanMachine.ts';
import type { LanProcess } from '../lanProcess.ts';

const roomful = fileURLToPath(new URL('../../../dist/electron/cli/main.js', import.meta.url));
const readySchema = z.object({ id: z.string(), name: z.string(), addresses: z.array(z.string()), gateway: z.url() });
const statusSchema = z.object({
  self: z.object({ id: z.string(), name: z.string() }),
  pool: z.object({ id: z.string(), name: z.string() }).nullable(),
  coordinator: z.string().nullable(),
  epoch: z.object({ counter: z.number(), coordinator: z.string() }).nullable(),
  members: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      state: z.string(),
      self: z.boolean(),
      address: z.string().nullable(),
      shareBytes: z.number(),
      devices: z.array(z.object({ name: z.string(), backend: z.string(), totalBytes: z.number().positive() })),
      build: z.string().nullable(),
      reject: z.object({ kind: z.string() }).nullable(),
    }),
  ),
  pipelines: z.array(z.unknown()),
});
const watchedSchema = z.array(z.object({ id: z.string(), name: z.string(), state: z.string(), leads: z.boolean() }));
export type SeenStatus = z.infer<typeof statusSchema>;

/** `roomful up` on a machine of the LAN, and the other commands beside it. */
export class LanMember {
  readonly name: string;
  readonly machine: LanMachine;
  readonly home: string;
  #process: LanProcess | null = null;
  #watch: LanProcess | null = null;
  #id = '';

  constructor(name: string, machine: LanMachine, home: string) {
    this.name = name;
    this.machine = machine;
    this.home = home;
  }

  /** Starts it, and begins to watch what it sees. */
  async up(...args: string[]): Promise<this> {
    const up = ['up', '--name', this.name, '--memory', '1GB', '--json', ...args];
    this.#process = this.#start(up);
    const [line] = await this.#process.says(/\{.*\}\n/);
    this.#id = readySchema.parse(JSON.parse(line)).id;
    const script = [roomful, 'members', '--watch', '--json', '--home', this.home];
    this.#watch = this.machine.start(process.execPath, script);
    await this.#watch.says(/\]\n/);
    return this;
  }

  get id(): string {
    return this.#id;
  }

  get process(): LanProcess {
    if (this.#process === null) throw new Error(`${this.name} was not started.`);
    return this.#process;
  }

  /** Runs a command and answers what it printed; throws with what it said where it fails. */
  run(...args: string[]): Promise<string> {
    return this.machine.run(process.execPath, [roomful, ...args, '--home', this.home]);
  }

  async status(): Promise<SeenStatus> {
    return statusSchema.parse(JSON.parse(await this.run('status', '--json')));
  }

  async invite(...args: string[]): Promise<string> {
    return z.object({ token: z.string() }).parse(JSON.parse(await this.run('invite', '--json', ...args))).token;
  }

  /** `name state` of all, by name. */
  seen(): string[] {
    return this.#members()
      .map(({ name, state }) => `${name} ${state}`)
      .sort();
  }

  /** Id of the member that leads, as far as this one knows. */
  leader(): string | undefined {
    return this.#members().find(({ leads }) => leads)?.id;
  }

  async sees(...wanted: string[]): Promise<void> {
    await eventually(() =>
      expect({ by: this.name, seen: this.seen() }).toEqual({ by: this.name, seen: wanted.sort() }),
    );
  }

  async kill(): Promise<void> {
    await this.process.kill();
    await this.#watch?.kill();
  }

  /** The newest that `members --watch` has printed. */
  #members(): z.infer<typeof watchedSchema> {
    const lines = (this.#watch?.stdout() ?? '').split('\n').slice(0, -1);
    return watchedSchema.parse(JSON.parse(lines.at(-1) ?? '[]'));
  }

  #start(args: string[]): LanProcess {
    return this.machine.start(process.execPath, [roomful, ...args, '--home', this.home]);
  }
}
