import { utilityProcess } from 'electron';
import type { HostLauncher } from '../stage/hostLauncher.ts';
import { hostEntry } from '../stage/nodeLauncher.ts';

/** Starts hosts as utility processes of Electron, which end with it. Only once the app is ready. */
export const utilityLauncher: HostLauncher = {
  launch(host, listeners) {
    const child = utilityProcess.fork(hostEntry(host), [], {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe'],
      serviceName: `Roomful ${host}`,
      // The libraries of llama.cpp are not signed by us.
      allowLoadingUnsignedLibraries: true,
    });
    let error: Error | null = null;
    let killed = false;
    const end = () => {
      if (child.pid !== undefined) process.kill(child.pid, 'SIGKILL');
    };
    child.on('spawn', () => {
      if (killed) end();
      if (child.pid !== undefined) listeners.onSpawn(child.pid);
    });
    child.on('message', (message: unknown) => listeners.onMessage(message));
    child.stderr?.on('data', (chunk: Buffer) => listeners.onStderr(chunk.toString('utf8')));
    child.on('error', (type, location) => {
      error = new Error(`${type} at ${location}`);
    });
    child.on('exit', (exitCode) => listeners.onExit({ exitCode, signal: null, error }));
    return {
      get pid() {
        return child.pid;
      },
      send: (message) => child.postMessage(message),
      kill: () => {
        killed = true;
        end();
      },
    };
  },
};
