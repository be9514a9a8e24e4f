import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type ReadyMember, readyMemberSchema } from '../headlessReady.ts';

/** Long, because a dozen members may start at once on two cores. */
const START_TIMEOUT_MS = 120_000;

/** A member as a process of its own, below this one. */
export interface ChildMember extends ReadyMember {
  process: ChildProcess;
  /** Asks it to leave, and ends it after a while if it does not. */
  stop(): Promise<void>;
}

export interface ChildMemberOptions {
  home: string;
  name: string;
  memoryBytes: number;
  threads: number;
  /** Gives the start up, and ends the process, where it is aborted before the member is ready. */
  signal?: AbortSignal;
  /** Added to the environment of this process. */
  env?: Readonly<Record<string, string>>;
}

/**
 * Starts a member with its own data folder and resolves when it is ready. It ends when this process does. Its log goes
 * to its data folder. Rejects with the reason in one line.
 */
export function startChildMember(options: ChildMemberOptions): Promise<ChildMember> {
  const args = ['--home', options.home, '--name', options.name];
  args.push('--memory', String(options.memoryBytes), '--threads', String(options.threads));
  const child = fork(headlessEntry(), args, {
    // Not the parent's flags: an inspector port or a loader of its own would follow.
    execArgv: [],
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-4000);
  });
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      child.kill('SIGKILL');
      reject(new Error(`Member ${options.name} did not start: ${errors.trim().split('\n').at(-1) || why}`));
    };
    const timer = setTimeout(() => fail(`no sign of life within ${START_TIMEOUT_MS / 1000} s`), START_TIMEOUT_MS);
    const giveUp = (): void => fail('it was given up');
    const settle = (): void => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', giveUp);
    };
    options.signal?.addEventListener('abort', giveUp, { once: true });
    if (options.signal?.aborted) giveUp();
    child.once('exit', (code, signal) => {
      settle();
      fail(`it ended with ${signal ?? code}`);
    });
    child.once('message', (message) => {
      settle();
      const ready = readyMemberSchema.safeParse(message);
      if (!ready.success) return fail('its ready message cannot be read');
      resolve({ ...ready.data, process: child, stop: () => stop(child) });
    });
  });
}

/** The compiled entry, also for a parent that runs from the sources, as tests do. */
function headlessEntry(): string {
  const here = import.meta.url;
  return fileURLToPath(new URL(here.endsWith('.ts') ? '../../dist/electron/headless.js' : '../headless.js', here));
}

const STOP_TIMEOUT_MS = 5000;

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    child.kill('SIGTERM');
  });
}
