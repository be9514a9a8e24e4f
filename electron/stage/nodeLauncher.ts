import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { HostChild, HostLauncher, HostListeners, HostName } from './hostLauncher.ts';

/** Starts hosts as children of a Node process. */
export const nodeLauncher: HostLauncher = {
  launch(host: HostName, listeners: HostListeners): HostChild {
    const child = fork(hostEntry(host), [], {
      // Not the parent's flags: an inspector port or a loader of its own would follow.
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let error: Error | null = null;
    child.on('spawn', () => {
      if (child.pid !== undefined) listeners.onSpawn(child.pid);
    });
    child.on('message', (message) => listeners.onMessage(message));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => listeners.onStderr(text));
    let ended = false;
    const end = (exitCode: number | null, signal: string | null): void => {
      if (ended) return;
      ended = true;
      listeners.onExit({ exitCode, signal, error });
    };
    // 'close' comes after all of stderr. Where there is no process it may come after 'error', or not at all.
    child.on('close', end);
    child.on('error', (cause) => {
      error = cause;
      if (child.pid === undefined) end(null, null);
    });
    return {
      pid: child.pid,
      send: (message) => {
        if (child.connected) child.send(message as object, () => {});
      },
      kill: () => {
        child.kill('SIGKILL');
      },
    };
  },
};

/** The compiled entry file of a host, also for a parent that runs from the sources, as tests do. */
export function hostEntry(host: HostName): string {
  const here = import.meta.url;
  return fileURLToPath(new URL(`${here.endsWith('.ts') ? '../../dist/electron/stage' : '.'}/${host}Host.js`, here));
}
