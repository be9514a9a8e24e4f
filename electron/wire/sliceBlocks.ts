/** The protocol beside gRPC in which the bytes of models travel, see slices.proto. */
export const SLICES_PROTOCOL = 'roomful-slices/1';

/** Bytes of a block's length, and the room that lies before its bytes in the same buffer. */
export const BLOCK_START_BYTES = 4;
/** Large, so that what a block costs, which is a turn of another thread at either end, does not show on a busy machine. */
export const MOST_BLOCK_BYTES = 1024 * 1024;
/** Of a request. */
export const MOST_REQUEST_BYTES = 1024 * 1024;
/** In place of a length: a refusal follows. */
export const REFUSAL_MARK = 0xffff_ffff;

/** A block of these bytes. */
export function encodeBlock(bytes: Uint8Array): Buffer {
  const block = Buffer.allocUnsafe(BLOCK_START_BYTES + bytes.byteLength);
  block.writeUInt32LE(bytes.byteLength);
  block.set(bytes, BLOCK_START_BYTES);
  return block;
}

/** What came that is no block. */
export class BrokenBlocks extends Error {
  override readonly name = 'BrokenBlocks';
}

/**
 * Cuts what comes from a socket into blocks. Bytes are copied into buffers of `takeBuffer`, which `onBlock` gets filled to
 * the length of the block; pieces that come while there is none wait here.
 */
export class BlockReader {
  readonly #most: number;
  readonly #start = Buffer.alloc(BLOCK_START_BYTES);
  #startBytes = 0;
  #length = -1;
  #filled = 0;
  #isRefusal = false;
  #target: Buffer | null = null;
  readonly #waiting: Buffer[] = [];

  /** `most`: bytes of the longest block. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Whether pieces wait for a buffer. */
  get isFull(): boolean {
    return this.#waiting.length > 0;
  }

  /** `piece` may be changed once this has returned; null goes on with what waits. Throws BrokenBlocks. */
  take(piece: Buffer | null, takeBuffer: () => Buffer | null, onBlock: (block: Block) => void): void {
    if (piece !== null) this.#waiting.push(this.isFull ? Buffer.from(piece) : piece);
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const rest = this.#takePiece(next, takeBuffer, onBlock);
      if (rest !== null) {
        this.#waiting.unshift(next === piece ? Buffer.from(rest) : rest);
        return;
      }
    }
  }

  /** Null where all was taken, else what is left of the piece because there is no buffer. */
  #takePiece(piece: Buffer, takeBuffer: () => Buffer | null, onBlock: (block: Block) => void): Buffer | null {
    let at = 0;
    while (at < piece.byteLength) {
      if (this.#length < 0) {
        const count = Math.min(BLOCK_START_BYTES - this.#startBytes, piece.byteLength - at);
        piece.copy(this.#start, this.#startBytes, at, at + count);
        this.#startBytes += count;
        at += count;
        if (this.#startBytes < BLOCK_START_BYTES) return null;
        this.#begin(onBlock);
        continue;
      }
      this.#target ??= takeBuffer();
      if (this.#target === null) return piece.subarray(at);
      const count = Math.min(this.#length - this.#filled, piece.byteLength - at);
      piece.copy(this.#target, this.#filled, at, at + count);
      this.#filled += count;
      at += count;
      if (this.#filled < this.#length) return null;
      const buffer = this.#target;
      const block = { bytes: buffer.subarray(0, this.#length), buffer, isRefusal: this.#isRefusal };
      this.#target = null;
      this.#length = -1;
      this.#isRefusal = false;
      onBlock(block);
    }
    return null;
  }

  #begin(onBlock: (block: Block) => void): void {
    const length = this.#start.readUInt32LE();
    this.#startBytes = 0;
    if (length === REFUSAL_MARK && !this.#isRefusal) {
      this.#isRefusal = true;
      return;
    }
    if (length > this.#most) throw new BrokenBlocks(`a block of ${length} bytes came where ${this.#most} are allowed`);
    this.#filled = 0;
    if (length > 0) this.#length = length;
    else onBlock({ bytes: NO_BYTES, buffer: null, isRefusal: this.#isRefusal });
  }
}

const NO_BYTES = Buffer.alloc(0);

export interface Block {
  bytes: Buffer;
  /** What `bytes` lies in, to be given back; null for an empty block. */
  buffer: Buffer | null;
  isRefusal: boolean;
}
