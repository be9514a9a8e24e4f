/** Looks for new versions of the app. */
export interface Updater {
  /** Why there is nobody to ask; null where there is. */
  readonly unavailable: string | null;
  /** Looks now and then from now on; what it finds is installed when the app quits. */
  start(listeners: UpdateListeners): void;
  stop(): void;
}

export interface UpdateListeners {
  /** A new version is here and waits for the app to quit. */
  onReady(version: string): void;
  /** It could not be looked for, or fetched; it is tried again. */
  onProblem(cause: unknown): void;
}
