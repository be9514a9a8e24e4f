import type { ClientReadableStream } from '@grpc/grpc-js';
import { clientOptions } from './channelOptions.ts';
import {
  type AnswerToken,
  type DriveOrder,
  type EmbedOrder,
  type FindModelReply,
  ServingClient as GeneratedClient,
  type GenerateOrder,
  type KeptServes,
  type PipelineList,
  type ServeNews,
  type ServeOrder,
  type StopOrder,
} from './generated/roomful/v1/serving.ts';
import { type Peer, PeerCalls } from './peerCalls.ts';
import { CallRefused } from './wireError.ts';

const FIND_TIMEOUT_MS = 5000;
/** Longer than the member itself waits. */
const AWAIT_TIMEOUT_MS = 8000;
/** Beyond the time that requests get to end. */
const STOP_TIMEOUT_MS = 30_000;

/**
 * Asks another member about models that serve; one connection, kept until `close`. Every method rejects with a WireError.
 * A stream ends the call when its iteration is left, or by its signal.
 */
export class ServingClient {
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

  serve(order: ServeOrder, signal: AbortSignal): AsyncGenerator<ServeNews, void, void> {
    return this.#stream('Serving a model', () => this.#client.serve(order), signal);
  }

  drive(order: DriveOrder, signal: AbortSignal): AsyncGenerator<ServeNews, void, void> {
    return this.#stream('Driving a pipeline', () => this.#client.drive(order), signal);
  }

  async stop(order: StopOrder): Promise<number> {
    const reply = await this.#calls.unary<{ stopped: number }>(
      'Stopping a model',
      order.drainMs + STOP_TIMEOUT_MS,
      (metadata, options, done) => this.#client.stop(order, metadata, options, done),
    );
    return reply.stopped;
  }

  /** The member's pipelines, and the models that it has, now and after every change. */
  watch(signal: AbortSignal): AsyncGenerator<PipelineList, void, void> {
    return this.#stream('Watching pipelines', () => this.#client.watchPipelines({}), signal);
  }

  async *generate(order: GenerateOrder, signal: AbortSignal): AsyncGenerator<AnswerToken, void, void> {
    for await (const { tokens } of this.#stream('Generating', () => this.#client.generate(order), signal)) {
      yield* tokens;
    }
  }

  async embed(order: EmbedOrder, signal: AbortSignal): Promise<Float32Array> {
    for await (const { values } of this.#stream('Embedding', () => this.#client.embed(order), signal)) {
      return Float32Array.from(values);
    }
    throw new CallRefused('Failed', 'The member that drives the model gave no embedding.');
  }

  async *vocabulary(pipeline: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
    const chunks = this.#stream('Fetching a vocabulary', () => this.#client.vocabulary({ pipeline }), signal);
    for await (const { data } of chunks) yield data;
  }

  /** The model on the member's disk that is called so; null where there is none. */
  async findModel(model: string): Promise<FindModelReply | null> {
    const reply = await this.#calls.unary<FindModelReply>(
      'Looking for a model',
      FIND_TIMEOUT_MS,
      (metadata, options, done) => this.#client.findModel({ model }, metadata, options, done),
    );
    return reply.model === '' ? null : reply;
  }

  /** Whether the member's clients can ask a model that has come up; it answers once they can, or after some seconds. */
  async awaitModel(model: string, pipelines: readonly string[]): Promise<boolean> {
    const reply = await this.#calls.unary<{ known: boolean }>(
      'Waiting for a model',
      AWAIT_TIMEOUT_MS,
      (metadata, options, done) =>
        this.#client.awaitModel({ model, pipelines: [...pipelines] }, metadata, options, done),
    );
    return reply.known;
  }

  /** Tells what this member is to serve again after a restart, and answers what the other one is. */
  exchangeServes(own: KeptServes): Promise<KeptServes> {
    return this.#calls.unary('Comparing what was served', FIND_TIMEOUT_MS, (metadata, options, done) =>
      this.#client.exchangeServes(own, metadata, options, done),
    );
  }

  close(): void {
    this.#client.close();
  }

  /** A member that hangs is found out by `endWhenSilent`. */
  async *#stream<Reply>(
    what: string,
    start: () => ClientReadableStream<Reply>,
    signal: AbortSignal,
  ): AsyncGenerator<Reply, void, void> {
    signal.throwIfAborted();
    const call = start();
    const cancel = (): void => call.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    let up = false;
    call.once('metadata', () => {
      up = true;
    });
    try {
      for await (const reply of call) yield reply as Reply;
    } catch (error) {
      signal.throwIfAborted();
      throw this.#calls.errorOf(error, { what, up, timeoutMs: 0 });
    } finally {
      signal.removeEventListener('abort', cancel);
      call.cancel();
    }
  }
}
