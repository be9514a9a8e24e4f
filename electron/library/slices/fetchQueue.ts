import type { StageUnit } from './stageLayout.ts';

/** Bytes [from, to) of a tensor that are to be fetched. */
export interface FetchPiece {
  unit: StageUnit;
  from: number;
  to: number;
}

/** Bytes asked for at once: long enough that a round trip does not show, short enough that holders share the work. */
const BATCH_BYTES = 16 << 20;
const BATCH_PIECES = 512;

/** What is still to be fetched, in the order of the file, cut into batches; tensors are kept from holders that damaged them. */
export class FetchQueue {
  #batches: FetchPiece[][] = [];
  readonly #banned = new Map<string, Set<string>>();

  /** Adds pieces, to be fetched after what is there. */
  add(pieces: readonly FetchPiece[]): void {
    let batch: FetchPiece[] = [];
    let room = BATCH_BYTES;
    const close = (): void => {
      if (batch.length > 0) this.#batches.push(batch);
      batch = [];
      room = BATCH_BYTES;
    };
    for (const { unit, from, to } of pieces) {
      for (let at = from; at < to; ) {
        const end = Math.min(to, at + room);
        batch.push({ unit, from: at, to: end });
        room -= end - at;
        at = end;
        if (room === 0 || batch.length === BATCH_PIECES) close();
      }
    }
    close();
  }

  /** Puts back what was not fetched of a batch, to be taken next. */
  giveBack(pieces: FetchPiece[]): void {
    if (pieces.length > 0) this.#batches.unshift(pieces);
  }

  /** The next batch of which a member may give everything; null where there is none now. */
  take(member: string): FetchPiece[] | null {
    const index = this.#batches.findIndex((batch) => batch.every(({ unit }) => !this.isBanned(unit.tensor, member)));
    return index < 0 ? null : (this.#batches.splice(index, 1)[0] ?? null);
  }

  isBanned(tensor: string, member: string): boolean {
    return this.#banned.get(tensor)?.has(member) ?? false;
  }

  /** From now on a tensor is not taken from a member; the rest of what waits beside it still is. */
  ban(tensor: string, member: string): void {
    this.#banned.set(tensor, (this.#banned.get(tensor) ?? new Set()).add(member));
    this.#batches = this.#batches.flatMap((batch) => {
      const own = batch.filter(({ unit }) => unit.tensor === tensor);
      const others = batch.filter(({ unit }) => unit.tensor !== tensor);
      return [own, others].filter((part) => part.length > 0);
    });
  }
}
