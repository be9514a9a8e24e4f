import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type ReadyMember, readyMemberSchema } from '../headlessReady.ts';

const START_TIMEOUT_MS = 30_000;

/** A member as a process of its own, below this one. */
export interface ChildMember extends ReadyMember {
  process: ChildProcess;
  /** Asks it to leave, and ends it after a while if it does not. */
  stop(): Promise<void>;
}

/**
 * Starts a member with its own data folder and resolves when it is ready. It ends when this process does. Its log goes
 * to its data folder. Rejects with the reason in one line.
 */
export function startChildMember(options: {
  home: string;
  name: string;
  memoryBytes: number;
  threads: number;
}): Promise<ChildMember> {
  const entry = fileURLToPath(new URL('../headless.js', import.meta.url));
  const args = ['--home', options.home, '--name', options.name];
  args.push('--memory', String(options.memoryBytes), '--threads', String(options.threads));
  const child = fork(entry, args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
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
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      fail(`it ended with ${signal ?? code}`);
    });
    child.once('message', (message) => {
      clearTimeout(timer);
      const ready = readyMemberSchema.safeParse(message);
      if (!ready.success) return fail('its ready message cannot be read');
      resolve({ ...ready.data, process: child, stop: () => stop(child) });
    });
  });
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
