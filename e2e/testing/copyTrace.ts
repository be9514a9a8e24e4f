import { Duplex, Readable } from 'node:stream';

/** Smaller ones are heads and lengths, which lie in a pool with others. */
const LEAST_BYTES = 1024;

/**
 * Watches every way in which a program copies bytes that it names, and what enters and leaves HTTP/2 streams, so that the copies
 * on the way of a piece of memory can be counted. A copy made in any other way breaks the chain, which is told too.
 */
export class CopyTrace {
  /** What a stream of a client took from its socket, and one of a server gave to it. */
  readonly received = new Set<ArrayBufferLike>();
  readonly sent = new Set<ArrayBufferLike>();
  readonly #copies = new Map<ArrayBufferLike, Set<ArrayBufferLike>>();
  readonly #restore: (() => void)[] = [];

  constructor() {
    const copied = (from: ArrayBufferView, to: ArrayBufferView): void => {
      if (from.byteLength < LEAST_BYTES) return;
      this.#copies.set(from.buffer, (this.#copies.get(from.buffer) ?? new Set()).add(to.buffer));
    };
    const { received, sent } = this;
    this.#replace(
      Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array,
      'set',
      (set) =>
        function (this: Uint8Array, source: ArrayLike<number>, at?: number) {
          if (ArrayBuffer.isView(source)) copied(source, this);
          set.call(this, source, at);
        },
    );
    this.#replace(
      Buffer.prototype,
      'copy',
      (copy) =>
        function (this: Buffer, target: Uint8Array, ...rest: number[]) {
          copied(this, target);
          return copy.call(this, target, ...rest);
        },
    );
    this.#replace(Buffer, 'concat', (concat) => (list: readonly Uint8Array[], length?: number) => {
      const joined = concat.call(Buffer, list, length);
      for (const part of list) copied(part, joined);
      return joined;
    });
    this.#replace(
      Readable.prototype,
      'push',
      (push) =>
        function (this: Readable, chunk: unknown, encoding?: BufferEncoding) {
          if (this.constructor.name === 'ClientHttp2Stream' && chunk instanceof Uint8Array) received.add(chunk.buffer);
          return push.call(this, chunk, encoding);
        },
    );
    this.#replace(
      Duplex.prototype as { write: (...given: unknown[]) => boolean },
      'write',
      (write) =>
        function (this: Duplex, ...given: unknown[]) {
          const [chunk] = given;
          if (this.constructor.name === 'ServerHttp2Stream' && chunk instanceof Uint8Array) sent.add(chunk.buffer);
          return write.apply(this, given);
        },
    );
  }

  /** How many copies lie between any of these and any of those; Infinity where no chain of known copies joins them. */
  copies(from: Iterable<ArrayBufferLike>, to: ReadonlySet<ArrayBufferLike>): number {
    const seen = new Set(from);
    let edge = [...seen];
    for (let count = 0; edge.length > 0; count += 1) {
      if (edge.some((memory) => to.has(memory))) return count;
      edge = edge.flatMap((memory) => [...(this.#copies.get(memory) ?? [])]).filter((memory) => !seen.has(memory));
      for (const memory of edge) seen.add(memory);
    }
    return Number.POSITIVE_INFINITY;
  }

  /** Watches no longer. */
  end(): void {
    for (const restore of this.#restore.splice(0)) restore();
  }

  #replace<T extends object, K extends keyof T>(owner: T, name: K, make: (original: T[K]) => T[K]): void {
    const original = owner[name];
    owner[name] = make(original);
    this.#restore.push(() => {
      owner[name] = original;
    });
  }
}
