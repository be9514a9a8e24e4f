import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type WatchedOutput, watchOutput } from './watchOutput.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface DemoProcess extends WatchedOutput {
  child: ChildProcess;
  /** Data folder of this run. */
  home: string;
  /** Ends it and removes its data folder. */
  dispose(): Promise<void>;
}

/** Runs `npm run demo -- ARGS` as a user does, with a data folder of its own. */
export function startDemo(args: string[], { quiet = false } = {}): DemoProcess {
  const home = mkdtempSync(join(tmpdir(), 'roomful-demo-test-'));
  const npm = ['run', ...(quiet ? ['-s'] : []), 'demo', '--', ...args];
  const child = spawn('npm', npm, { cwd: root, env: { ...process.env, ROOMFUL_HOME: home }, detached: true });
  const output = watchOutput(child, 'The demo');
  return {
    child,
    home,
    ...output,
    dispose: async () => {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
        process.kill(-child.pid, 'SIGTERM');
        await output.exit;
      }
      rmSync(home, { recursive: true, force: true });
    },
  };
}
