import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface DemoProcess {
  child: ChildProcess;
  /** Data folder of this run. */
  home: string;
  stdout(): string;
  stderr(): string;
  /** Resolves when the output matches. Rejects when the demo ends before. */
  says(pattern: RegExp): Promise<void>;
  /** The exit code, once it has ended. */
  exit: Promise<number | null>;
  /** Ends it and removes its data folder. */
  dispose(): Promise<void>;
}

/** Runs `npm run demo -- ARGS` as a user does, with a data folder of its own. */
export function startDemo(args: string[], { quiet = false } = {}): DemoProcess {
  const home = mkdtempSync(join(tmpdir(), 'roomful-demo-test-'));
  const npm = ['run', ...(quiet ? ['-s'] : []), 'demo', '--', ...args];
  const child = spawn('npm', npm, { cwd: root, env: { ...process.env, ROOMFUL_HOME: home }, detached: true });
  let out = '';
  let err = '';
  const watchers = new Set<() => void>();
  const told = (): void => {
    for (const watcher of watchers) watcher();
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    told();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
    told();
  });
  const exit = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  return {
    child,
    home,
    stdout: () => out,
    stderr: () => err,
    exit,
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!pattern.test(out + err)) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        void exit.then((code) =>
          reject(new Error(`The demo ended with ${code} before it said ${pattern}:\n${out}${err}`)),
        );
        look();
      }),
    dispose: async () => {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
        process.kill(-child.pid, 'SIGTERM');
        await exit;
      }
      rmSync(home, { recursive: true, force: true });
    },
  };
}
