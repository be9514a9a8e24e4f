import type { RemoteInfo, Socket } from 'node:dgram';
import { EventEmitter } from 'node:events';

/** Packets that are taken at once, and a second from then on: a room full of chatty devices stays below. */
const BURST_PACKETS = 200;
const PACKETS_PER_SECOND = 50;

/** Each question of a query costs an answer to the whole LAN; real ones ask a handful. */
const MAX_QUESTIONS = 32;

/** The library compares every record of an answer with every other; ours have about twenty. */
const MAX_RECORDS = 128;

/** RFC 1035, 4.1.1: the header is six numbers, of which the last four count questions and three kinds of records. */
const HEADER_BYTES = 12;

/**
 * A bound UDP socket as the mDNS library sees it. The library answers every question and lets hostile packets throw; here
 * they are counted and dropped, and what is heard and sent can be looked at.
 */
export class GuardedSocket extends EventEmitter {
  readonly #socket: Socket;
  readonly #now: () => number;
  readonly #accepts: (source: string) => boolean;
  #budget = BURST_PACKETS;
  #filledAt: number;
  #dropped = 0;
  #sendError: Error | null = null;

  constructor(socket: Socket, options: { now: () => number; accepts: (source: string) => boolean }) {
    super();
    this.#socket = socket;
    this.#now = options.now;
    this.#accepts = options.accepts;
    this.#filledAt = options.now();
    socket.on('message', (message, from) => this.#take(message, from));
    // A later error of a UDP socket concerns one packet; the next one may well arrive.
    socket.on('error', () => {
      this.#dropped += 1;
    });
  }

  /** Packets that were too many, malformed or made the library throw. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Why the last packet could not be sent, null when it was. */
  get sendError(): Error | null {
    return this.#sendError;
  }

  /** As the mDNS library calls it. */
  send(
    message: Uint8Array,
    offset: number,
    length: number,
    port: number,
    address: string,
    done: (error: Error | null) => void,
  ): void {
    this.#socket.send(message, offset, length, port, address, (error) => {
      this.#sendError = error;
      done(error);
    });
  }

  close(done: () => void): void {
    this.#socket.close(done);
  }

  #take(message: Buffer, from: RemoteInfo): void {
    if (!this.#accepts(from.address)) return;
    if (!this.#affords() || !isModest(message)) {
      this.#dropped += 1;
      return;
    }
    try {
      this.emit('message', message, from);
    } catch {
      this.#dropped += 1;
    }
  }

  #affords(): boolean {
    const now = this.#now();
    const earned = ((now - this.#filledAt) / 1000) * PACKETS_PER_SECOND;
    this.#budget = Math.min(BURST_PACKETS, this.#budget + earned);
    this.#filledAt = now;
    if (this.#budget < 1) return false;
    this.#budget -= 1;
    return true;
  }
}

function isModest(message: Buffer): boolean {
  if (message.length < HEADER_BYTES) return false;
  const [questions, ...records] = [4, 6, 8, 10].map((offset) => message.readUInt16BE(offset));
  return (questions ?? 0) <= MAX_QUESTIONS && records.reduce((sum, count) => sum + count, 0) <= MAX_RECORDS;
}
