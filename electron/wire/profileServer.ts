import { randomBytes } from 'node:crypto';
import type { ServerDuplexStream, ServerWritableStream } from '@grpc/grpc-js';
import {
  type MemberProfile,
  type ProbeReply,
  type ProbeRequest,
  type ProfilesServer,
  ProfilesService,
  type WatchProfileRequest,
} from './generated/roomful/v1/profile.ts';
import { peerOf } from './peerOf.ts';
import { refusal, refusalOf } from './refusal.ts';
import { CallRefused } from './wireError.ts';
import type { ServedService } from './wireServer.ts';

/** The most bytes that one request, and one probe with all its requests, may ask for. */
export const MAX_PROBE_REQUEST_BYTES = 8 * 2 ** 20;
export const MAX_PROBE_BYTES = 2 * MAX_PROBE_REQUEST_BYTES;
const MAX_PROBE_MS = 20_000;
const CHUNK_BYTES = 64 * 2 ** 10;
/** Random, so that nothing on the way can compress it. */
const chunk = randomBytes(CHUNK_BYTES);

/** Where the profile comes from that is served. */
export interface ProfileSource {
  current(): MemberProfile;
  /** Calls `listener` after every change, until the function that it returns is called. */
  onChange(listener: () => void): () => void;
}

/** Serves a member's profile to the others, and the bytes by which they measure how far away it is. */
export class ProfileServer {
  readonly service: ServedService;
  readonly #source: ProfileSource;
  readonly #watching = new Set<() => void>();
  readonly #probing = new Set<string>();

  constructor(source: ProfileSource) {
    this.#source = source;
    const implementation: ProfilesServer = {
      watch: (call) => this.#watch(call),
      probe: (call) => {
        this.#probe(call).then(
          () => call.end(),
          (error: unknown) => call.emit('error', refusalOf(error)),
        );
      },
    };
    this.service = { definition: ProfilesService, handlers: { ...implementation } };
  }

  /** Ends the calls of those who watch; before the server that this is part of is closed. */
  close(): void {
    for (const end of [...this.#watching]) end();
  }

  /** A watcher that does not keep up misses what was replaced meanwhile, never the newest. */
  #watch(call: ServerWritableStream<WatchProfileRequest, MemberProfile>): void {
    if (peerOf(call) === null) {
      call.emit('error', refusal('Uncertified', 'A certificate of this pool is needed.'));
      return;
    }
    let writing = false;
    let stale = true;
    const tell = (): void => {
      stale = true;
      if (writing) return;
      stale = false;
      writing = true;
      call.write(this.#source.current(), () => {
        writing = false;
        if (stale && this.#watching.has(end)) tell();
      });
    };
    const forget = this.#source.onChange(tell);
    const end = (): void => {
      forget();
      if (this.#watching.delete(end)) call.end();
    };
    this.#watching.add(end);
    call.on('cancelled', end);
    tell();
  }

  async #probe(call: ServerDuplexStream<ProbeRequest, ProbeReply>): Promise<void> {
    const peer = peerOf(call);
    if (peer === null) throw new CallRefused('Uncertified', 'A certificate of this pool is needed.');
    if (this.#probing.has(peer)) throw new CallRefused('PlaceTaken', 'This member measures already.');
    this.#probing.add(peer);
    const answering = answerAll(call);
    answering.catch(() => {});
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new CallRefused('Failed', 'This probe took too long.')), MAX_PROBE_MS);
    });
    try {
      await Promise.race([answering, tooLong]);
    } finally {
      clearTimeout(timer);
      this.#probing.delete(peer);
    }
  }
}

async function answerAll(call: ServerDuplexStream<ProbeRequest, ProbeReply>): Promise<void> {
  let left = MAX_PROBE_BYTES;
  // Not `for await`: leaving it early destroys the call, and its refusal with it.
  const requests = (call as AsyncIterable<ProbeRequest>)[Symbol.asyncIterator]();
  for (let next = await requests.next(); !next.done; next = await requests.next()) {
    const { bytes } = next.value;
    left -= bytes;
    if (bytes > MAX_PROBE_REQUEST_BYTES || left < 0) {
      const [once, together] = [MAX_PROBE_REQUEST_BYTES, MAX_PROBE_BYTES];
      throw new CallRefused('BadRequest', `A probe gets ${once} bytes at once and ${together} together, no more.`);
    }
    await answer(call, bytes);
  }
}

async function answer(call: ServerDuplexStream<ProbeRequest, ProbeReply>, bytes: number): Promise<void> {
  let left = bytes;
  do {
    if (call.cancelled) return;
    const payload = chunk.subarray(0, Math.min(left, CHUNK_BYTES));
    left -= payload.length;
    await new Promise<void>((resolve) => {
      call.write({ payload, last: left === 0 }, () => resolve());
    });
  } while (left > 0);
}
