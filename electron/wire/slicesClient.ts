import type { ClientReadableStream } from '@grpc/grpc-js';
import { clientOptions } from './channelOptions.ts';
import {
  type DescribeModelReply,
  SlicesClient as GeneratedClient,
  type HashWanted,
  type SliceChunk,
  type SliceRange,
  type TensorHash,
} from './generated/roomful/v1/slices.ts';
import { type Peer, PeerCalls } from './peerCalls.ts';
import { DeadlineExceeded } from './wireError.ts';

const DESCRIBE_TIMEOUT_MS = 5000;
/** Longest wait for the next bytes: a loaded holder is slow, never silent. */
const SILENCE_MS = 15_000;
/** Longest wait for the hash of one tensor, which the holder may have to compute. */
const HASH_SILENCE_MS = 120_000;

/** Asks a holder for parts of models; one connection, kept until `close`. Every method rejects with a WireError. */
export class SlicesClient {
  readonly member: string;
  readonly address: string;
  readonly #calls: PeerCalls;
  readonly #client: GeneratedClient;

  constructor(peer: Peer) {
    this.member = peer.member;
    this.address = peer.address;
    this.#calls = new PeerCalls(peer);
    this.#client = new GeneratedClient(peer.address, this.#calls.credentials, clientOptions);
  }

  /** CallRefused('NotHeld') where the member does not hold the model. */
  describe(model: string, timeoutMs = DESCRIBE_TIMEOUT_MS): Promise<DescribeModelReply> {
    return this.#calls.unary('Asking for a model', timeoutMs, (metadata, options, done) =>
      this.#client.describe({ model }, metadata, options, done),
    );
  }

  /** The bytes of the ranges in their order. They are views of their messages. Ends when all have come. */
  async *read(model: string, ranges: SliceRange[], signal?: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
    const call = this.#client.read({ model, ranges });
    for await (const { bytes } of this.#follow<SliceChunk>(call, 'Reading slices', SILENCE_MS, signal)) yield bytes;
  }

  /** One answer for each tensor, in order. */
  hash(
    model: string,
    tensors: string[],
    wanted: HashWanted,
    signal?: AbortSignal,
  ): AsyncGenerator<TensorHash, void, void> {
    const call = this.#client.hash({ model, tensors, wanted });
    return this.#follow<TensorHash>(call, 'Asking for hashes', HASH_SILENCE_MS, signal);
  }

  close(): void {
    this.#client.close();
  }

  async *#follow<Message>(
    call: ClientReadableStream<Message>,
    what: string,
    silenceMs: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Message, void, void> {
    const cancel = (): void => call.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted) cancel();
    let up = false;
    let silent = false;
    call.once('metadata', () => {
      up = true;
    });
    const arm = () =>
      setTimeout(() => {
        silent = true;
        call.cancel();
      }, silenceMs);
    let timer = arm();
    try {
      for await (const message of call as AsyncIterable<Message>) {
        // While the caller works nobody waits for the holder.
        clearTimeout(timer);
        yield message;
        timer = arm();
      }
    } catch (error) {
      if (silent) throw new DeadlineExceeded(what, silenceMs, { cause: error });
      throw this.#calls.errorOf(error, { what, up, timeoutMs: silenceMs });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      call.cancel();
    }
  }
}
