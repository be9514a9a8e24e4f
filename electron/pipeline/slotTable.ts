/** A KV-cache seat, and how many sequences have had it: frames of an earlier generation are dropped. */
export interface Slot {
  readonly slot: number;
  readonly generation: number;
}

/** The seats of one pipeline: the same numbers on every stage. */
export class SlotTable {
  readonly #free: number[];
  readonly #generations: number[];

  constructor(slots: number) {
    this.#free = Array.from({ length: slots }, (_, slot) => slots - 1 - slot);
    this.#generations = new Array<number>(slots).fill(0);
  }

  /** The lowest free seat, or null when all are taken. */
  take(): Slot | null {
    const slot = this.#free.pop();
    if (slot === undefined) return null;
    const generation = (this.#generations[slot] ?? 0) + 1;
    this.#generations[slot] = generation;
    return { slot, generation };
  }

  /** Gives a seat back; the caller has the stages free its KV before the next sequence takes it. */
  release(slot: number): void {
    this.#free.push(slot);
    this.#free.sort((a, b) => b - a);
  }

  get freeCount(): number {
    return this.#free.length;
  }
}
