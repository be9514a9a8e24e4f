import { once } from 'node:events';
import type { ServerWritableStream } from '@grpc/grpc-js';
import { assertCoordinator } from './assertCoordinator.ts';
import {
  type AnswerToken,
  type FindModelReply,
  type HeldModel,
  type KeptServes,
  type PipelineList,
  type PipelineNow,
  type ServeNews,
  type ServingServer as ServingCalls,
  ServingService,
} from './generated/roomful/v1/serving.ts';
import { peerOf } from './peerOf.ts';
import { refusalOf } from './refusal.ts';
import {
  type CheckedDriveOrder,
  type CheckedEmbedOrder,
  type CheckedGenerateOrder,
  type CheckedServeOrder,
  type CheckedStopOrder,
  parseDriveOrder,
  parseEmbedOrder,
  parseGenerateOrder,
  parseServeOrder,
  parseStopOrder,
} from './servingOrders.ts';
import { unaryHandler } from './unaryHandler.ts';
import { CallRefused } from './wireError.ts';
import type { ServedService } from './wireServer.ts';

export interface ServeCall {
  emit(news: ServeNews): void;
  /** Aborted when nobody waits any more. */
  signal: AbortSignal;
}

/** What a member does when another one asks. What these throw reaches the caller as CallRefused with its `kind`. */
export interface ServingHandlers {
  serve(order: CheckedServeOrder, call: ServeCall): Promise<void>;
  drive(order: CheckedDriveOrder, call: ServeCall): Promise<void>;
  /** How many pipelines have ended. */
  stop(order: CheckedStopOrder): Promise<number>;
  pipelines(): PipelineNow[];
  /** Models whose file this member has. */
  models(): HeldModel[];
  /** Calls `listener` after every change of `pipelines` and `models`, until the function that it returns is called. */
  onPipelines(listener: () => void): () => void;
  generate(order: CheckedGenerateOrder, signal: AbortSignal): AsyncIterable<AnswerToken>;
  embed(order: CheckedEmbedOrder, signal: AbortSignal): Promise<Float32Array>;
  vocabulary(pipeline: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Content id; null where there is no such model. */
  findModel(model: string): Promise<FindModelReply | null>;
  /** Whether this member's clients can ask a model that has come up, once they can or after some seconds. */
  awaitModel(model: string, pipelines: readonly string[]): Promise<boolean>;
  /** Learns what another member keeps; what this one keeps then. */
  exchangeServes(theirs: KeptServes): Promise<KeptServes>;
}

/** Serves what members ask of each other about models that serve. */
export class ServingServer {
  readonly service: ServedService;
  readonly #watching = new Set<() => void>();
  #handlers: ServingHandlers | null = null;

  constructor() {
    const calls: ServingCalls = {
      serve: (call) =>
        answer(call, (signal) => this.#ready.serve(parseServeOrder(call.request), { emit: emitter(call), signal })),
      drive: (call) =>
        answer(call, (signal) => {
          const order = parseDriveOrder(call.request);
          const peer = peerOf(call);
          if (peer === null) throw new CallRefused('Uncertified', 'A certificate of this pool is needed.');
          assertCoordinator(order.epoch, peer);
          return this.#ready.drive(order, { emit: emitter(call), signal });
        }),
      stop: unaryHandler(async (order) => ({ stopped: await this.#ready.stop(parseStopOrder(order)) })),
      watchPipelines: (call) => answer(call, (signal) => this.#watch(call, signal)),
      generate: (call) =>
        answer(call, async (signal) => {
          for await (const token of this.#ready.generate(parseGenerateOrder(call.request), signal)) {
            await send(call, { tokens: [token] }, signal);
          }
        }),
      embed: (call) =>
        answer(call, async (signal) => {
          const values = await this.#ready.embed(parseEmbedOrder(call.request), signal);
          await send(call, { values: [...values] }, signal);
        }),
      vocabulary: (call) =>
        answer(call, async (signal) => {
          for await (const data of this.#ready.vocabulary(call.request.pipeline, signal)) {
            await send(call, { data: Buffer.from(data) }, signal);
          }
        }),
      awaitModel: unaryHandler(async ({ model, pipelines }) => ({
        known: await this.#ready.awaitModel(model, pipelines),
      })),
      findModel: unaryHandler(async ({ model }) => (await this.#ready.findModel(model)) ?? { model: '' }),
      exchangeServes: unaryHandler((theirs) => this.#ready.exchangeServes(theirs)),
    };
    this.service = { definition: ServingService, handlers: { ...calls } };
  }

  /** Whoever answers; calls that come before are refused. */
  attach(handlers: ServingHandlers): void {
    this.#handlers = handlers;
  }

  /** Ends the calls of those who watch; before the server that this is part of is closed. */
  close(): void {
    for (const end of [...this.#watching]) end();
  }

  get #ready(): ServingHandlers {
    if (this.#handlers === null) throw new CallRefused('Failed', 'This member is only starting; try again.');
    return this.#handlers;
  }

  /** A watcher that does not keep up misses what was replaced meanwhile, never the newest. */
  async #watch(call: ServerWritableStream<unknown, PipelineList>, signal: AbortSignal): Promise<void> {
    const handlers = this.#ready;
    const closed = new AbortController();
    let wake = (): void => {};
    let stale = true;
    const forget = handlers.onPipelines(() => {
      stale = true;
      wake();
    });
    const end = (): void => {
      closed.abort();
      wake();
    };
    this.#watching.add(end);
    signal.addEventListener('abort', end, { once: true });
    try {
      while (!closed.signal.aborted) {
        if (stale) {
          stale = false;
          await send(call, { pipelines: handlers.pipelines(), models: handlers.models() }, signal);
          continue;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      forget();
      this.#watching.delete(end);
    }
  }
}

/** Runs what answers a call, with a signal for a caller that leaves, and ends the call with what came of it. */
function answer<Request, Reply>(
  call: ServerWritableStream<Request, Reply>,
  run: (signal: AbortSignal) => Promise<void>,
): void {
  const left = new AbortController();
  call.on('cancelled', () => left.abort(new CallRefused('Failed', 'The caller has left.')));
  const running = async (): Promise<void> => {
    if (peerOf(call) === null) throw new CallRefused('Uncertified', 'A certificate of this pool is needed.');
    await run(left.signal);
  };
  running().then(
    () => call.end(),
    (error: unknown) => call.emit('error', refusalOf(error)),
  );
}

function emitter<Reply>(call: ServerWritableStream<unknown, Reply>): (reply: Reply) => void {
  return (reply) => {
    if (!call.cancelled) call.write(reply);
  };
}

/** Resolves when there is room for more; rejects where the caller has left. */
async function send<Reply>(
  call: ServerWritableStream<unknown, Reply>,
  reply: Reply,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  if (!call.write(reply)) await once(call, 'drain', { signal });
}
