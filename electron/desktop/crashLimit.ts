const MOST_CRASHES = 3;
const WITHIN_MS = 60_000;

/** Says whether a window that has crashed may be loaded again: not where it crashes again and again. */
export class CrashLimit {
  #crashes: number[] = [];

  /** Counts a crash at `now`, in ms; true where it is not one too many. */
  mayReload(now: number): boolean {
    this.#crashes = [...this.#crashes.filter((at) => now - at < WITHIN_MS), now];
    return this.#crashes.length <= MOST_CRASHES;
  }

  /** A person wants to try again. */
  forget(): void {
    this.#crashes = [];
  }
}
