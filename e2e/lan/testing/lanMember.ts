import { deepStrictEqual } from 'node:assert/strict';
import { z } from 'zod';
import { builtFile } from '../../testing/builtFile.ts';
import { eventually } from '../../testing/eventually.ts';
import { processTree } from '../../testing/processTree.ts';
import type { LanMachine } from '../lanMachine.ts';
import type { LanProcess } from '../lanProcess.ts';
import { type PoolStatus, statusSchema } from './statusSchema.ts';

const roomful = builtFile('electron/cli/main.js');
const readySchema = z.object({ id: z.string(), name: z.string(), addresses: z.array(z.string()), gateway: z.url() });
const watchedSchema = z.array(z.object({ id: z.string(), name: z.string(), state: z.string(), leads: z.boolean() }));
type Watched = z.infer<typeof watchedSchema>;

/** `roomful up` on a machine of the LAN, and the other commands beside it. */
export class LanMember {
  readonly name: string;
  readonly machine: LanMachine;
  readonly home: string;
  #process: LanProcess | null = null;
  #watch: LanProcess | null = null;
  #id = '';
  #gateway = '';

  constructor(name: string, machine: LanMachine, home: string) {
    this.name = name;
    this.machine = machine;
    this.home = home;
  }

  /** Starts it, and begins to watch what it sees. */
  up(...args: string[]): Promise<this> {
    return this.upFrom(roomful, ...args);
  }

  /** As `up`, from another script that takes the same arguments. */
  async upFrom(script: string, ...args: string[]): Promise<this> {
    await this.#watch?.kill();
    const up = [script, 'up', '--name', this.name, '--memory', '1GB', '--json', ...args, '--home', this.home];
    this.#process = this.machine.start(process.execPath, up);
    const [line] = await this.#process.says(/\{.*\}\n/);
    const ready = readySchema.parse(JSON.parse(line));
    this.#id = ready.id;
    this.#gateway = ready.gateway;
    this.#watch = this.#start(['members', '--watch', '--json']);
    await this.#watch.says(/\]\n/);
    return this;
  }

  /** As it was when the member said that it is ready. */
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

  /** Runs a command that reads something from its standard input; answers and throws as `run`. */
  async tell(input: string, ...args: string[]): Promise<string> {
    const command = this.#start(args);
    command.end(input);
    if ((await command.exit) !== 0) throw new Error(command.stderr().trim());
    return command.stdout();
  }

  async status(): Promise<PoolStatus> {
    return statusSchema.parse(JSON.parse(await this.run('status', '--json')));
  }

  async invite(...args: string[]): Promise<string> {
    return z.object({ token: z.string() }).parse(JSON.parse(await this.run('invite', '--json', ...args))).token;
  }

  /** Gives the token on standard input, so that it is in no process's arguments; throws with what it said. */
  async join(token: string): Promise<void> {
    await this.tell(token, 'join', '-');
  }

  /** Answers the file. */
  async exportAuthority(passphrase: string): Promise<string> {
    const file = `${this.home}-authority`;
    await this.tell(`${passphrase}\n`, 'export-authority', file);
    return file;
  }

  /** Origin of its gateway, on the loopback of its machine. */
  get gateway(): string {
    return this.#gateway;
  }

  /** `name state` of all, by name. */
  seen(): string[] {
    return namesAndStates(this.#last());
  }

  /** All that it has seen since it was started, oldest first. */
  history(): Watched[] {
    return this.#lines().map((line) => watchedSchema.parse(JSON.parse(line)));
  }

  /** Id of the member that leads, as far as this one knows. */
  leader(): string | undefined {
    return this.#last().find(({ leads }) => leads)?.id;
  }

  async sees(...wanted: string[]): Promise<void> {
    const sorted = [...wanted].sort();
    await eventually(() => deepStrictEqual({ by: this.name, seen: this.seen() }, { by: this.name, seen: sorted }));
  }

  async kill(): Promise<void> {
    await this.process.kill();
    await this.#watch?.kill();
  }

  /** Ends it as Ctrl-C does. */
  async stop(): Promise<void> {
    await this.process.stop('SIGINT');
    await this.#watch?.kill();
  }

  /** As a laptop that sleeps: the member and all that it has started stand still, and so does what asks it. */
  sleep(): void {
    for (const { pid } of this.#all()) process.kill(pid, 'SIGSTOP');
  }

  wake(): void {
    for (const { pid } of this.#all()) process.kill(pid, 'SIGCONT');
  }

  #all(): { pid: number }[] {
    return processTree(this.process.pid);
  }

  #last(): Watched {
    return watchedSchema.parse(JSON.parse(this.#lines().at(-1) ?? '[]'));
  }

  /** What `members --watch` has printed. */
  #lines(): string[] {
    return (this.#watch?.stdout() ?? '').split('\n').slice(0, -1);
  }

  #start(args: string[]): LanProcess {
    return this.machine.start(process.execPath, [roomful, ...args, '--home', this.home]);
  }
}

function namesAndStates(members: Watched): string[] {
  return members.map(({ name, state }) => `${name} ${state}`).sort();
}
