/** The hosts there are: the entry file of each is `<name>Host`. */
export type HostName = 'stage' | 'engine' | 'template';

/** A running host process as its parent sees it. */
export interface HostChild {
  /** Undefined while, or because, it could not be started. */
  readonly pid: number | undefined;
  /** Structured clone; lost without an error when the child is gone, which `onExit` tells. */
  send(message: unknown): void;
  /** Ends it at once, whatever it does. */
  kill(): void;
}

export interface HostListeners {
  /** Once, first, when there is a process. */
  onSpawn(pid: number): void;
  onMessage(message: unknown): void;
  onStderr(text: string): void;
  /** Once, last. */
  onExit(exit: { signal: string | null; exitCode: number | null; error: Error | null }): void;
}

/** Starts host processes: `fork` under Node, `utilityProcess` in Electron. */
export interface HostLauncher {
  launch(host: HostName, listeners: HostListeners): HostChild;
}
