import { createHash } from 'node:crypto';
import { MalformedError, TruncatedError } from './ggufError.ts';
import type { RangeReader } from './rangeReader.ts';

/** Bytes read at a time. */
const chunkBytes = 1 << 20;

/**
 * Headers end within this many bytes. The largest tokenizers take some 20 MiB, so the rest is room; it bounds the time
 * that a hostile file can cost.
 */
const longestHeader = 256 << 20;

/**
 * Reads a header front to back through a bounded window. `fill` brings bytes into the window, the synchronous readers
 * take them; a reader never asks for more than was filled.
 */
export class HeaderCursor {
  readonly #reader: RangeReader;
  #window: Buffer = Buffer.alloc(0);
  #view = new DataView(this.#window.buffer);
  /** Offset in the file of the window's first byte. */
  #start = 0;
  #at = 0;
  /** Of everything before the window. */
  readonly #hash = createHash('sha256');

  constructor(reader: RangeReader) {
    this.#reader = reader;
  }

  get path(): string {
    return this.#reader.path;
  }

  /** Offset in the file of the next byte. */
  get offset(): number {
    return this.#start + this.#at;
  }

  /** Bytes from here to the end of the file. */
  get remaining(): number {
    return this.#reader.size - this.offset;
  }

  /** Whether the next `count` bytes still have to be filled. */
  lacks(count: number): boolean {
    return this.#window.byteLength - this.#at < count;
  }

  /** Brings the next `count` bytes into the window; rejects with `TruncatedError` where the file ends before them. */
  async fill(count: number): Promise<void> {
    if (count > this.remaining) throw new TruncatedError(this.path, this.offset + count, this.#reader.size);
    await this.fillUpTo(count);
  }

  /** As `fill`, but content with what the file has. */
  async fillUpTo(count: number): Promise<void> {
    if (!this.lacks(count)) return;
    const offset = this.offset;
    if (offset + count > longestHeader) {
      throw new MalformedError(this.path, `its header does not end within ${longestHeader} bytes`);
    }
    const target = Buffer.allocUnsafe(Math.min(Math.max(count, chunkBytes), this.remaining));
    const found = await this.#reader.read(offset, target);
    if (found < target.byteLength) {
      throw new TruncatedError(this.path, offset + target.byteLength, offset + found);
    }
    this.#moveTo(offset, target);
  }

  /** Moves on; bytes that were not filled are read, but for the hash alone. Rejects where the file ends before. */
  async pass(count: number): Promise<void> {
    if (count > this.remaining) throw new TruncatedError(this.path, this.offset + count, this.#reader.size);
    for (let left = count; left > 0; ) {
      if (this.lacks(1)) await this.fillUpTo(1);
      const step = Math.min(left, this.#window.byteLength - this.#at);
      this.#at += step;
      left -= step;
    }
  }

  /** Moves on over bytes that were filled. */
  skip(count: number): void {
    this.#take(count);
  }

  /** SHA-256 in hex of all bytes up to here; once, when the header has been read. */
  digest(): string {
    this.#hash.update(this.#window.subarray(0, this.#at));
    return this.#hash.digest('hex');
  }

  u32(): number {
    const at = this.#take(4);
    return this.#view.getUint32(at, true);
  }

  /** Exact up to 2^53; beyond that only good for a refusal, which names `lastU64`. */
  u64(): number {
    const at = this.#take(8);
    return this.#view.getUint32(at + 4, true) * 2 ** 32 + this.#view.getUint32(at, true);
  }

  /** The integer that `u64` has just answered, exact. */
  lastU64(): bigint {
    return this.#view.getBigUint64(this.#at - 8, true);
  }

  text(byteLength: number): string {
    const at = this.#take(byteLength);
    return this.#window.toString('utf8', at, at + byteLength);
  }

  /** A copy of the next bytes. */
  bytes(byteLength: number): Uint8Array<ArrayBuffer> {
    const at = this.#take(byteLength);
    return Uint8Array.from(this.#window.subarray(at, at + byteLength));
  }

  #moveTo(offset: number, window: Buffer): void {
    this.#hash.update(this.#window.subarray(0, this.#at));
    this.#window = window;
    this.#view = new DataView(window.buffer, window.byteOffset, window.byteLength);
    this.#start = offset;
    this.#at = 0;
  }

  #take(count: number): number {
    if (this.lacks(count)) throw new TruncatedError(this.path, this.offset + count, this.#reader.size);
    const at = this.#at;
    this.#at += count;
    return at;
  }
}
