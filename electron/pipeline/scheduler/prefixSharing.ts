import type { PrefixSource } from '../../wire/generated/roomful/v1/ring.ts';
import { type Seat, SeatTable } from './seatTable.ts';
import type { Sequence } from './sequence.ts';
import { type PrefixHolder, type PrefixRule, prefixToAwait, prefixToCopy, worthCopying } from './sharedPrefix.ts';
import { StepsBehind } from './stepsBehind.ts';

export interface SharingConfig {
  readonly slots: number;
  readonly sequenceLength: number;
  readonly chunk: number;
  readonly exact: boolean;
  readonly rewinds: boolean;
}

interface SlotHolder extends PrefixHolder {
  readonly source: PrefixSource;
  /** Who sits there, null where nobody does. */
  readonly sequence: Sequence | null;
}

/**
 * Seats sequences so that what begins alike is computed once: in a free slot that holds the beginning, else with a copy from
 * another slot, also from one whose sequence runs. Where that one's prompt is still being sent it is waited for. Decides and
 * keeps account; the pipeline sends.
 */
export class PrefixSharing {
  readonly #config: SharingConfig;
  readonly #rule: PrefixRule;
  readonly #seats: SeatTable;
  readonly #behind = new StepsBehind();
  /** In the order in which they were seated. */
  readonly #running: ReadonlyMap<number, Sequence>;

  constructor(config: SharingConfig, running: ReadonlyMap<number, Sequence>) {
    this.#config = config;
    this.#running = running;
    this.#rule = { unit: config.exact ? config.chunk : 1, worth: worthCopying(config.sequenceLength) };
    this.#seats = new SeatTable(config.slots, { unit: this.#rule.unit, worthCopying: this.#rule.worth });
  }

  get freeCount(): number {
    return this.#seats.freeCount;
  }

  /** Gives a sequence that does not run yet a seat; false when all are taken. */
  seat(next: Sequence): boolean {
    // Every row counts for an embedding, so none may be held already.
    const prompt = next.vector === null ? next.request.promptTokens : [];
    const holders = this.#takesPart(next) ? [...this.#earlier(next)] : [];
    const elsewhere = [prefixToCopy(prompt, 0, holders, this.#rule), prefixToAwait(prompt, 0, holders, this.#rule)];
    const seat = this.#seats.take(prompt, Math.max(...elsewhere.map((shared) => shared?.length ?? 0)));
    if (seat === null) return false;
    this.#begin(next, seat);
    return true;
  }

  /** Gives the seat back; `known` says that every stage holds what it was sent. False where nothing there is gone on from. */
  leave(sequence: Sequence, { slot }: Seat, known: boolean): boolean {
    const kept = known ? sequence.log.slice(0, this.#shareable(sequence)) : [];
    if (kept.length === 0) this.#behind.emptied(slot);
    this.#seats.release(slot, kept);
    return kept.length > 0;
  }

  /** Who waited for a sequence that has ended waits for another, or for none. */
  review(): void {
    for (const sequence of this.#running.values()) {
      if (sequence.awaits?.holder.hasEnded) this.#await(sequence);
    }
  }

  /** What is copied into the seat of a sequence with its first run, null for nothing; the sequence goes on from there. */
  begin(sequence: Sequence): PrefixSource | null {
    sequence.isFresh = false;
    sequence.awaits = null;
    const { seat } = sequence;
    if (seat === null || !this.#takesPart(sequence)) return null;
    const copied = prefixToCopy(sequence.request.promptTokens, seat.kept, this.#others(sequence), this.#rule);
    if (copied === null) return null;
    const { source } = copied.holder;
    sequence.goOnFromCopy(copied.length);
    this.#behind.copied(source.slot, seat.slot);
    return source;
  }

  /** A step has been sent that adds to these slots. */
  sent(step: number, slots: Iterable<number>): void {
    for (const slot of slots) this.#behind.sent(step, slot);
  }

  /** A step has come back; gives the slots that hold something of it. */
  back(step: number): number[] {
    return this.#behind.back(step);
  }

  /** What a slot holds may not lie on every stage: whoever goes on from it begins anew. True where nobody sits there. */
  doubt(slot: number): boolean {
    this.#behind.emptied(slot);
    if (this.#seats.doubt(slot)) return true;
    for (const sequence of this.#running.values()) {
      // What is under way of it is dropped by its generation.
      if (sequence.seat?.slot === slot) this.#begin(sequence, this.#seats.renew(sequence.seat));
    }
    return false;
  }

  #begin(sequence: Sequence, seat: Seat): void {
    if (seat.kept === 0) this.#behind.emptied(seat.slot);
    sequence.begin(seat);
    this.#await(sequence);
  }

  #await(sequence: Sequence): void {
    sequence.awaits = null;
    if (!sequence.isFresh || sequence.seat === null || !this.#takesPart(sequence)) return;
    const { promptTokens } = sequence.request;
    const copied = prefixToCopy(promptTokens, sequence.seat.kept, this.#others(sequence), this.#rule);
    const held = copied?.length ?? sequence.seat.kept;
    const awaited = prefixToAwait(promptTokens, held, this.#earlier(sequence), this.#rule);
    const holder = awaited?.holder.sequence ?? null;
    if (awaited !== null && holder !== null) sequence.awaits = { holder, length: awaited.length };
  }

  /**
   * How much of what it was sent another may go on from. Rows computed in other company may round differently, so an exact ring
   * keeps whole chunks of the prompt, which the other would compute just so, and nothing of what came one by one.
   */
  #shareable({ certain, promptLength }: Sequence): number {
    const { rewinds, exact, chunk } = this.#config;
    if (!rewinds) return 0;
    if (!exact) return certain;
    const most = Math.min(certain, promptLength);
    return most - (most % chunk);
  }

  /** The others that a sequence may get a copy from. */
  *#others(sequence: Sequence): Generator<SlotHolder> {
    for (const { tokens, ...source } of this.#seats.left()) {
      yield { tokens, source, sequence: null, sent: tokens.length, coming: tokens.length };
    }
    for (const other of this.#running.values()) {
      if (other !== sequence) yield* this.#holderOf(other, sequence);
    }
  }

  /** Those who run and were seated before it: who waits for these alone never waits in a circle. */
  *#earlier(sequence: Sequence): Generator<SlotHolder> {
    for (const other of this.#running.values()) {
      if (other === sequence) return;
      yield* this.#holderOf(other, sequence);
    }
  }

  *#holderOf(other: Sequence, asking: Sequence): Generator<SlotHolder> {
    const { seat, log, promptLength } = other;
    if (seat === null || !this.#takesPart(other)) return;
    const sent = this.#shareable(other);
    // Bulk may be long in coming.
    const isAwaited = other.sent < promptLength && (!other.bulk || asking.bulk);
    const coming = isAwaited ? promptLength : sent;
    yield { tokens: log, source: { slot: seat.slot, generation: seat.generation }, sequence: other, sent, coming };
  }

  /** The rows of a text that becomes a vector are computed in parts of their own on the last stage. */
  #takesPart({ vector }: Sequence): boolean {
    return this.#config.rewinds && vector === null;
  }
}
