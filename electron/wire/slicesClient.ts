import { clientOptions } from './channelOptions.ts';
import {
  type DescribeModelReply,
  SlicesClient as GeneratedClient,
  type HashWanted,
  type TensorHash,
} from './generated/roomful/v1/slices.ts';
import { type Peer, PeerCalls } from './peerCalls.ts';
import { DeadlineExceeded } from './wireError.ts';

const DESCRIBE_TIMEOUT_MS = 5000;
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

  /** One answer for each tensor, in order. */
  async *hash(
    model: string,
    tensors: string[],
    wanted: HashWanted,
    signal?: AbortSignal,
  ): AsyncGenerator<TensorHash, void, void> {
    const call = this.#client.hash({ model, tensors, wanted });
    const cancel = (): void => call.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted) cancel();
    let up = false;
    let silent = false;
    call.once('metadata', () => {
      up = true;
    });
    const timer = setTimeout(() => {
      silent = true;
      call.cancel();
    }, HASH_SILENCE_MS);
    try {
      for await (const hash of call as AsyncIterable<TensorHash>) {
        yield hash;
        timer.refresh();
      }
    } catch (error) {
      if (silent) throw new DeadlineExceeded('Asking for hashes', HASH_SILENCE_MS, { cause: error });
      throw this.#calls.errorOf(error, { what: 'Asking for hashes', up, timeoutMs: HASH_SILENCE_MS });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      call.cancel();
    }
  }

  close(): void {
    this.#client.close();
  }
}
