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

/** What lies in a slot where nobody sits. */
export interface LeftPrefix {
  readonly slot: number;
  readonly generation: number;
  readonly tokens: readonly number[];
}

interface FreeSlot {
  /** What its KV holds, of the sequence that sat there last. */
  tokens: readonly number[];
  /** Whether it holds anything, also where it is not known what. */
  used: boolean;
  /** When it was released, counted in releases. */
  at: number;
}

interface Candidate {
  slot: number;
  free: FreeSlot;
  /** Tokens of the prompt's beginning that lie there. */
  common: number;
  /** The same; 0 where they are too few to be a reason for the seat. */
  worth: number;
}

/** A shorter common beginning, unless it is all of the prompt, is no reason to overwrite what another conversation may come back for. */
const WORTH_KEEPING_TOKENS = 16;
/** A slot keeps what a request has not in common with it where that is so many times what a copy must save: few come back. */
const WORTH_SPARING_COPIES = 4;

/**
 * The seats of one pipeline: the same numbers on every stage. A sequence that has ended leaves its KV in place, so that a
 * request that begins alike goes on from it; the slot itself is free at once.
 */
export class SeatTable {
  readonly #free = new Map<number, FreeSlot>();
  readonly #generations: number[];
  readonly #unit: number;
  readonly #worthCopying: number;
  #releases = 0;

  /** Beginnings are kept in multiples of `unit` tokens; a copy from one slot to another must save `worthCopying`. */
  constructor(slots: number, { unit = 1, worthCopying = Number.POSITIVE_INFINITY } = {}) {
    this.#unit = unit;
    this.#worthCopying = worthCopying;
    for (let slot = 0; slot < slots; slot += 1) this.#free.set(slot, { tokens: [], used: false, at: 0 });
    this.#generations = new Array<number>(slots).fill(0);
  }

  /**
   * The free seat that holds most of the prompt's beginning; where none holds enough, or so many tokens more can be copied from
   * `elsewhere` that it is worth it, the one that has waited longest. That one too where the best holds much else: what it has
   * in common with the prompt can be copied, and who left it there may come back. Null when all are taken. The last token
   * of the prompt never counts as kept: computing it gives the first of the answer.
   */
  take(prompt: readonly number[], elsewhere = 0): Seat | null {
    const enough = Math.max(1, Math.min(WORTH_KEEPING_TOKENS, prompt.length - 1));
    let best: Candidate | null = null;
    let oldest: Candidate | null = null;
    for (const [slot, free] of this.#free) {
      const common = this.#whole(Math.min(commonLength(free.tokens, prompt), prompt.length - 1));
      const candidate = { slot, free, common, worth: common >= enough ? common : 0 };
      const older = (than: Candidate): boolean => goesBefore(slot, free, than);
      if (best === null || candidate.worth > best.worth || (candidate.worth === best.worth && older(best))) {
        best = candidate;
      }
      if (oldest === null || older(oldest)) oldest = candidate;
    }
    if (best === null || oldest === null) return null;
    const isBetterElsewhere = elsewhere - best.worth >= this.#worthCopying;
    const isSpared =
      best.free.tokens.length - best.common >= this.#worthCopying * WORTH_SPARING_COPIES &&
      best.worth - oldest.common >= this.#worthCopying;
    const { slot, free, common } = isBetterElsewhere || isSpared ? oldest : best;
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

  /** What the slot holds is not certain any more; false where somebody sits there. */
  doubt(slot: number): boolean {
    const free = this.#free.get(slot);
    if (free === undefined) return false;
    free.tokens = [];
    return true;
  }

  /** What lies where nobody sits. */
  *left(): Generator<LeftPrefix> {
    for (const [slot, { tokens }] of this.#free) {
      if (tokens.length > 0) yield { slot, generation: this.#generations[slot] ?? 0, tokens };
    }
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
