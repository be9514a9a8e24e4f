import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { type WatchedOutput, watchOutput } from '../testing/watchOutput.ts';

/** A process on a machine of the LAN. It dies with the test that started it. */
export class LanProcess implements WatchedOutput {
  readonly pid: number;
  readonly stdout: WatchedOutput['stdout'];
  readonly stderr: WatchedOutput['stderr'];
  readonly says: WatchedOutput['says'];
  readonly exit: WatchedOutput['exit'];
  readonly #child: ChildProcessWithoutNullStreams;

  constructor(child: ChildProcessWithoutNullStreams, name: string) {
    if (child.pid === undefined) throw new Error(`${name} could not be started`);
    this.pid = child.pid;
    this.#child = child;
    const output = watchOutput(child, name);
    this.stdout = output.stdout;
    this.stderr = output.stderr;
    this.says = output.says;
    this.exit = output.exit;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Writes to its standard input. */
  write(text: string): void {
    this.#child.stdin.write(text);
  }

  /** Writes to its standard input and closes it. */
  end(text: string): void {
    this.#child.stdin.end(text);
  }

  /** As a crash or a power cut: kill -9, and it is gone when this resolves. */
  async kill(): Promise<void> {
    await this.stop('SIGKILL');
  }

  /** Asks it to end, and waits until it has. */
  async stop(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (this.running) this.#child.kill(signal);
    await this.exit;
  }

  /** Freezes it (SIGSTOP), its connections stay open. Its children run on. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  /** Lets a frozen one go on. */
  resume(): void {
    this.#child.kill('SIGCONT');
  }
}
