/** Counts failures by source, with room for some at once and for more as time goes by. Keeps the newest sources only. */
export class RateLimit {
  readonly #burst: number;
  readonly #intervalMs: number;
  readonly #mostSources: number;
  readonly #spent = new Map<string, { failures: number; atMs: number }>();

  /** `burst` failures at once, and one more for every `intervalMs`. */
  constructor({ burst, intervalMs, mostSources }: { burst: number; intervalMs: number; mostSources: number }) {
    this.#burst = burst;
    this.#intervalMs = intervalMs;
    this.#mostSources = mostSources;
  }

  /** Whether a source may try now. */
  allows(source: string, nowMs: number): boolean {
    return this.#failures(source, nowMs) < this.#burst;
  }

  /** A try of this source has failed. */
  fail(source: string, nowMs: number): void {
    const failures = this.#failures(source, nowMs) + 1;
    this.#spent.delete(source);
    this.#spent.set(source, { failures, atMs: nowMs });
    for (const oldest of this.#spent.keys()) {
      if (this.#spent.size <= this.#mostSources) break;
      this.#spent.delete(oldest);
    }
  }

  #failures(source: string, nowMs: number): number {
    const spent = this.#spent.get(source);
    if (spent === undefined) return 0;
    return Math.max(0, spent.failures - Math.max(0, nowMs - spent.atMs) / this.#intervalMs);
  }
}
