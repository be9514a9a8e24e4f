import { commonLength } from './commonLength.ts';

/** A KV-cache seat for one sequence. */
export interface Seat {
  readonly slot: number;
  /** How many sequences have had the slot: frames of an earlier one are dropped. */
  readonly generation: number;
  /** Tokens of the prompt whose KV already lies there, from position 0; what lies beyond must be truncated. */
  readonly kept: number;
  /** Whether anything lies there. */
  readonly used: boolean;
}

interface FreeSlot {
  /** What its KV holds, of the sequence that sat there last. */
  tokens: readonly number[];
  /** Whether it holds anything, also where it is not known what. */
  used: boolean;
  /** When it was released, counted in releases. */
  at: number;
}

/** A shorter common beginning, unless it is all of the prompt, is no reason to overwrite what another conversation may come back for. */
const WORTH_KEEPING_TOKENS = 16;

/**
 * The seats of one pipeline: the same numbers on every stage. A sequence that has ended leaves its KV in place, so that a
 * request that begins alike goes on from it; the slot itself is free at once.
 */
export class SeatTable {
  readonly #free = new Map<number, FreeSlot>();
  readonly #generations: number[];
  readonly #unit: number;
  #releases = 0;

  /** Beginnings are kept in multiples of `unit` tokens. */
  constructor(slots: number, unit = 1) {
    this.#unit = unit;
    for (let slot = 0; slot < slots; slot += 1) this.#free.set(slot, { tokens: [], used: false, at: 0 });
    this.#generations = new Array<number>(slots).fill(0);
  }

  /**
   * The free seat that holds most of the prompt's beginning; where none holds enough the one that has waited longest. Null
   * when all are taken. The last token of the prompt never counts as kept: computing it gives the first of the answer.
   */
  take(prompt: readonly number[]): Seat | null {
    const enough = Math.max(1, Math.min(WORTH_KEEPING_TOKENS, prompt.length - 1));
    let best: { slot: number; free: FreeSlot; common: number } | null = null;
    for (const [slot, free] of this.#free) {
      const common = this.#whole(Math.min(commonLength(free.tokens, prompt), prompt.length - 1));
      const worth = common >= enough ? common : 0;
      const bestWorth = best !== null && best.common >= enough ? best.common : 0;
      if (best === null || worth > bestWorth || (worth === bestWorth && goesBefore(slot, free, best))) {
        best = { slot, free, common };
      }
    }
    if (best === null) return null;
    const { slot, free, common } = best;
    this.#free.delete(slot);
    const generation = (this.#generations[slot] ?? 0) + 1;
    this.#generations[slot] = generation;
    return { slot, generation, kept: common, used: free.used };
  }

  /** Gives a seat back with the tokens whose KV every stage holds there, none where that is not certain. */
  release(slot: number, tokens: readonly number[]): void {
    this.#releases += 1;
    this.#free.set(slot, { tokens, used: true, at: this.#releases });
  }

  /** What the slot held in that generation is not certain any more; true where nobody sits there by now. */
  doubt(slot: number, generation: number): boolean {
    const free = this.#free.get(slot);
    if (free === undefined || this.#generations[slot] !== generation) return false;
    free.tokens = [];
    return true;
  }

  /** The same slot for who sits there, with nothing in it that could be gone on from; runs of before are stale. */
  renew({ slot }: Seat): Seat {
    const generation = (this.#generations[slot] ?? 0) + 1;
    this.#generations[slot] = generation;
    return { slot, generation, kept: 0, used: true };
  }

  #whole(tokens: number): number {
    return Math.max(0, tokens - (tokens % this.#unit));
  }

  get freeCount(): number {
    return this.#free.size;
  }
}

function goesBefore(slot: number, free: FreeSlot, than: { slot: number; free: FreeSlot }): boolean {
  return free.at !== than.free.at ? free.at < than.free.at : slot < than.slot;
}
