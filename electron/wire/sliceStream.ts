import type { OnReadOpts } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { ReadSlices, type SliceRange, SliceRefusal } from './generated/roomful/v1/slices.ts';
import { memberIdOfCertificate } from './memberId.ts';
import type { Peer } from './peerCalls.ts';
import { isRefusalReason } from './refusal.ts';
import { type Block, BlockReader, encodeBlock, MOST_BLOCK_BYTES, SLICES_PROTOCOL } from './sliceBlocks.ts';
import {
  CallCancelled,
  CallRefused,
  DeadlineExceeded,
  LinkLost,
  PeerUnreachable,
  type WireError,
  WrongPeer,
} from './wireError.ts';

const CONNECT_TIMEOUT_MS = 5000;
/** Longest wait for the next bytes: a loaded holder is slow, never silent. */
const SILENCE_MS = 15_000;
/** Blocks that may have come and not been used; beyond that the connection is read no further. */
const BLOCKS_AHEAD = 3;
/** Read at once; TLS gives 16 KiB. */
const READ_BYTES = 64 * 1024;

/** Whoever takes what comes; the bytes are good until it returns. */
interface Taker {
  take(piece: Buffer): void;
}

/** A connection to a holder for the bytes of models; requests follow each other on it. */
export class SliceStream {
  readonly member: string;
  readonly #address: string;
  readonly #socket: TLSSocket;
  readonly #free: Buffer[] = [];
  #made = 0;
  readonly #blocks = new BlockReader(MOST_BLOCK_BYTES);
  readonly #ready: Block[] = [];
  #wake: (() => void) | null = null;
  #lost: WireError | null = null;
  #isReading = false;

  private constructor(peer: Peer, socket: TLSSocket, taker: Taker) {
    this.member = peer.member;
    this.#address = peer.address;
    this.#socket = socket;
    taker.take = (piece) => this.#take(piece);
    const lose = (why: string): void =>
      this.#lose(new LinkLost(`Reading slices: the connection to ${this.#address} broke (${why}).`));
    socket.on('error', (cause) => lose(cause.message));
    socket.on('close', () => lose('it was closed'));
    socket.on('end', () => lose('it was ended'));
  }

  /** Rejects with PeerUnreachable, WrongPeer, DeadlineExceeded or CallCancelled. */
  static open(peer: Peer, signal?: AbortSignal): Promise<SliceStream> {
    const { address, member, tls } = peer;
    const colon = address.lastIndexOf(':');
    const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
    const taker: Taker = { take: () => {} };
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(new CallCancelled('Reading slices was cancelled.'));
      // The types of TLS leave `onread` out.
      const options: ConnectionOptions & { onread: OnReadOpts } = {
        host,
        port: Number(address.slice(colon + 1)),
        ca: tls.ca,
        cert: tls.cert,
        key: tls.key,
        minVersion: 'TLSv1.3',
        // A server would choose the one of 256 bits, which takes both ends a fifth more of the processor.
        ciphers: 'TLS_AES_128_GCM_SHA256',
        ALPNProtocols: [SLICES_PROTOCOL],
        servername: 'roomful',
        // Members are known by id, see below, never by host name.
        checkServerIdentity: () => undefined,
        // Past the socket's own queue, which would make a buffer and an event of every 16 KiB.
        onread: {
          buffer,
          callback: (bytes) => {
            taker.take(buffer.subarray(0, bytes));
            return true;
          },
        },
      };
      const socket = connect(options);
      const settle = (error: WireError | null): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', cancel);
        socket.off('error', fail);
        socket.off('close', closed);
        if (error === null) {
          socket.setNoDelay(true);
          resolve(new SliceStream(peer, socket, taker));
        } else {
          socket.on('error', () => {});
          socket.destroy();
          reject(error);
        }
      };
      const fail = (cause: Error): void => settle(new PeerUnreachable(address, cause.message, { cause }));
      const closed = (): void => settle(new PeerUnreachable(address, 'the connection was closed'));
      const cancel = (): void => settle(new CallCancelled('Reading slices was cancelled.'));
      const timer = setTimeout(
        () => settle(new DeadlineExceeded('Connecting for slices', CONNECT_TIMEOUT_MS)),
        CONNECT_TIMEOUT_MS,
      );
      signal?.addEventListener('abort', cancel, { once: true });
      socket.on('error', fail);
      socket.on('close', closed);
      socket.once('secureConnect', () => {
        const found = memberIdOfCertificate(socket.getPeerCertificate().raw);
        if (found !== member) settle(new WrongPeer(address, member, found));
        else if (socket.alpnProtocol !== SLICES_PROTOCOL) {
          settle(new PeerUnreachable(address, 'the member there gives no slices'));
        } else settle(null);
      });
    });
  }

  /**
   * The bytes of the ranges in their order, in blocks that never lie in two ranges. A block is good until the next one is
   * asked for. Throws a WireError, after which, or after leaving the iteration early, the connection is of no use.
   */
  async *read(model: string, ranges: SliceRange[], signal?: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
    if (this.#isReading) throw new RangeError('a stream answers one request at a time');
    this.#isReading = true;
    const cancel = (): void => this.#lose(new CallCancelled('Reading slices was cancelled.'));
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted) cancel();
    let isDone = false;
    try {
      this.#socket.write(encodeBlock(ReadSlices.encode({ model, ranges }).finish()));
      for (;;) {
        const block = await this.#next();
        if (block.isRefusal) throw refused(block.bytes);
        if (block.buffer === null) break;
        yield block.bytes;
        this.#release(block.buffer);
      }
      isDone = true;
    } finally {
      signal?.removeEventListener('abort', cancel);
      this.#isReading = false;
      if (!isDone) this.close();
    }
  }

  close(): void {
    this.#lose(new CallCancelled('The stream was closed.'));
  }

  async #next(): Promise<Block> {
    for (;;) {
      const block = this.#ready.shift();
      if (block !== undefined) return block;
      if (this.#lost !== null) throw this.#lost;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => this.#lose(new DeadlineExceeded('Reading slices', SILENCE_MS)), SILENCE_MS);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  #take(piece: Buffer | null): void {
    try {
      this.#blocks.take(
        piece,
        () => this.#takeBuffer(),
        (block) => {
          this.#ready.push(block);
          this.#wakeUp();
        },
      );
    } catch (cause) {
      this.#lose(new LinkLost(`What came from ${this.#address} is no answer to a request for slices.`, { cause }));
      return;
    }
    if (this.#blocks.isFull) this.#socket.pause();
    else if (this.#socket.isPaused()) this.#socket.resume();
  }

  #takeBuffer(): Buffer | null {
    const free = this.#free.pop();
    if (free !== undefined || this.#made >= BLOCKS_AHEAD) return free ?? null;
    this.#made += 1;
    return Buffer.allocUnsafeSlow(MOST_BLOCK_BYTES);
  }

  #release(buffer: Buffer): void {
    this.#free.push(buffer);
    if (this.#blocks.isFull) this.#take(null);
  }

  #lose(error: WireError): void {
    if (this.#lost !== null) return;
    this.#lost = error;
    this.#socket.destroy();
    this.#wakeUp();
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}

function refused(bytes: Uint8Array): WireError {
  const { reason, message } = SliceRefusal.decode(bytes);
  return new CallRefused(isRefusalReason(reason) ? reason : 'Failed', message);
}
