import type { TLSSocket } from 'node:tls';
import { SliceRefusal } from './generated/roomful/v1/slices.ts';
import { refusalOf } from './refusal.ts';
import {
  BLOCK_START_BYTES,
  type Block,
  BlockReader,
  encodeBlock,
  MOST_BLOCK_BYTES,
  MOST_REQUEST_BYTES,
  REFUSAL_MARK,
} from './sliceBlocks.ts';
import { decodeReadSlices } from './sliceRequests.ts';
import type { SendGate, SliceSource } from './slicesService.ts';
import { CallRefused, type RefusalReason } from './wireError.ts';

export interface SliceStreamsOptions {
  source: SliceSource;
  gate: SendGate;
  /** Whether a member whose certificate is good may read; asked for every request. */
  admits: (member: string) => boolean;
}

/** Connections that one member may have at a time. */
const STREAMS_PER_PEER = 16;
/** A connection on which nothing is asked for so long is closed, ms. */
const IDLE_MS = 60_000;

/** Serves the bytes of models on connections of their own, one request at a time on each. */
export class SliceStreams {
  readonly #options: SliceStreamsOptions;
  readonly #byPeer = new Map<string, Set<TLSSocket>>();

  constructor(options: SliceStreamsOptions) {
    this.#options = options;
  }

  /** Takes a connection of a member, whose certificate has been checked. */
  accept(member: string, socket: TLSSocket): void {
    const own = this.#byPeer.get(member) ?? new Set();
    this.#byPeer.set(member, own.add(socket));
    const gone = new AbortController();
    socket.once('close', () => {
      own.delete(socket);
      if (own.size === 0 && this.#byPeer.get(member) === own) this.#byPeer.delete(member);
      gone.abort(new CallRefused('Failed', 'The receiver has left.'));
    });
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    const refuse = (error: unknown): void => {
      if (!socket.destroyed) socket.end(encodeRefusal(error));
    };
    if (own.size > STREAMS_PER_PEER) {
      refuse(new CallRefused('PlaceTaken', 'This member reads enough already.'));
      return;
    }
    const blocks = new BlockReader(MOST_REQUEST_BYTES);
    let isAnswering = false;
    // Used again for every request and answer: fresh ones would keep the collector busy.
    const question = Buffer.allocUnsafeSlow(MOST_REQUEST_BYTES);
    const answers = [newBuffer(), newBuffer()] as const;
    const takeBuffer = (): Buffer | null => (isAnswering ? null : question);
    /** Requests are answered one after the other; who asks ahead is read no further. */
    const take = (piece: Buffer | null): void => {
      try {
        blocks.take(piece, takeBuffer, onBlock);
        if (blocks.isFull) socket.pause();
        else socket.resume();
      } catch (cause) {
        refuse(new CallRefused('BadRequest', 'That is no request for slices.', { cause }));
      }
    };
    const onBlock = ({ bytes }: Block): void => {
      isAnswering = true;
      this.#answer(member, socket, bytes, { answers, signal: gone.signal }).then(() => {
        isAnswering = false;
        take(null);
      }, refuse);
    };
    socket.on('data', take);
  }

  /** Cuts every connection. */
  close(): void {
    for (const sockets of this.#byPeer.values()) for (const socket of sockets) socket.destroy();
  }

  /** Of `answers` one is read into while the other leaves. */
  async #answer(
    member: string,
    socket: TLSSocket,
    request: Uint8Array,
    { answers, signal }: { answers: readonly [Buffer, Buffer]; signal: AbortSignal },
  ): Promise<void> {
    if (signal.aborted) return;
    const { source, gate, admits } = this.#options;
    if (!admits(member)) throw new CallRefused('NotAdmitted', 'This member is not in the pool, or no longer.');
    const { model, ranges } = decodeReadSlices(request);
    const reader = await source.open(model);
    try {
      for (const part of ranges) reader.check(part);
      let turn: 0 | 1 = 0;
      let sent = Promise.resolve();
      for (const part of ranges) {
        for (let done = 0; done < part.bytes; ) {
          const buffer = answers[turn];
          turn = turn === 0 ? 1 : 0;
          const size = Math.min(MOST_BLOCK_BYTES, gate.mostBytes, part.bytes - done);
          const block = buffer.subarray(0, BLOCK_START_BYTES + size);
          const end = await gate.begin(size, signal);
          try {
            await reader.read(part, part.offset + done, block.subarray(BLOCK_START_BYTES));
            await sent;
          } catch (cause) {
            end();
            throw cause;
          }
          done += size;
          block.writeUInt32LE(size);
          sent = write(socket, block, signal).finally(end);
          // Awaited before the next one leaves; until then a failure must not count as unhandled.
          sent.catch(() => {});
        }
      }
      await sent;
      await write(socket, encodeBlock(new Uint8Array(0)), signal);
    } finally {
      await reader.close();
    }
  }
}

function newBuffer(): Buffer {
  return Buffer.allocUnsafeSlow(BLOCK_START_BYTES + MOST_BLOCK_BYTES);
}

function encodeRefusal(error: unknown): Buffer {
  const { details } = refusalOf(error);
  const reason: RefusalReason = error instanceof CallRefused ? error.reason : 'Failed';
  const mark = Buffer.alloc(BLOCK_START_BYTES);
  mark.writeUInt32LE(REFUSAL_MARK);
  return Buffer.concat([mark, encodeBlock(SliceRefusal.encode({ reason, message: details }).finish())]);
}

/** Resolves when TLS has taken the bytes, so that their buffer is free; rejects when the receiver has left. */
function write(socket: TLSSocket, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason);
    if (signal.aborted) return leave();
    signal.addEventListener('abort', leave, { once: true });
    socket.write(bytes, (error) => {
      signal.removeEventListener('abort', leave);
      if (error) reject(error);
      else resolve();
    });
  });
}
