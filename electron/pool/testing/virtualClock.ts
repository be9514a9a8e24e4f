import type { Clock } from '../clock.ts';

/** A clock that stands still until a test moves it. */
export class VirtualClock implements Clock {
  #now = 0;
  #slept = 0;
  #timers = new Set<{ at: number; run: () => void }>();

  now(): number {
    return this.#now;
  }

  wall(): number {
    return this.#now + this.#slept;
  }

  /** As a machine that sleeps: its other clock stands still meanwhile. */
  sleep(ms: number): void {
    this.#slept += ms;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves on, running what becomes due in order, each with what it leads to. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = due.at;
      due.run();
      await settle();
    }
    this.#now = end;
  }
}

/** Until every promise that can settle has. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
