import { spawn } from 'node:child_process';
import { LanProcess } from './lanProcess.ts';
import { ipBatch } from './namespaces.ts';

export interface LanMachineOptions {
  /** From 1 on. */
  number: number;
  namespace: string;
  ipv4: string;
  ipv6: string;
}

export interface RunOptions {
  /** On top of the test's own environment. */
  env?: Record<string, string>;
  cwd?: string;
}

/** One machine of a Lan: a network namespace with a loopback and a card `eth0`, a default route through it, and processes. */
export class LanMachine {
  readonly number: number;
  /** Its addresses on the LAN. */
  readonly ipv4: string;
  readonly ipv6: string;
  readonly namespace: string;
  readonly #processes = new Set<LanProcess>();

  constructor(options: LanMachineOptions) {
    this.number = options.number;
    this.namespace = options.namespace;
    this.ipv4 = options.ipv4;
    this.ipv6 = options.ipv6;
  }

  /** Starts a program that is killed when the test's process dies, however it dies. */
  start(command: string, args: readonly string[], options: RunOptions = {}): LanProcess {
    // Both exec, so the process id is that of the program.
    const line = ['--pdeathsig', 'KILL', 'ip', 'netns', 'exec', this.namespace, command, ...args];
    const child = spawn('setpriv', line, { cwd: options.cwd, env: { ...process.env, ...options.env } });
    const started = new LanProcess(child, `${command} on machine ${this.number}`);
    this.#processes.add(started);
    return started;
  }

  /** Runs a program to its end and answers what it printed; throws when it fails. */
  async run(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
    const started = this.start(command, args, options);
    const code = await started.exit;
    this.#processes.delete(started);
    if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${started.stderr().trim()}`);
    return started.stdout();
  }

  /** Changes its network with commands of `ip`, such as `address add 172.17.0.1/16 dev docker0`. */
  async ip(...commands: string[]): Promise<void> {
    await ipBatch(this.namespace, commands);
  }

  /** Kills every process that was started here. */
  async killAll(): Promise<void> {
    await Promise.all([...this.#processes].map((started) => started.kill()));
    this.#processes.clear();
  }
}
