import type { HostLauncher } from './hostLauncher.ts';

/** The process ids of the hosts that live. */
export class HostPids {
  readonly #pids = new Set<number>();

  get pids(): ReadonlySet<number> {
    return this.#pids;
  }

  /** A launcher whose hosts are among `pids` for as long as they live. */
  watch(launcher: HostLauncher): HostLauncher {
    return {
      launch: (host, listeners) => {
        let started: number | null = null;
        return launcher.launch(host, {
          ...listeners,
          onSpawn: (pid) => {
            started = pid;
            this.#pids.add(pid);
            listeners.onSpawn(pid);
          },
          onExit: (exit) => {
            if (started !== null) this.#pids.delete(started);
            listeners.onExit(exit);
          },
        });
      },
    };
  }
}
