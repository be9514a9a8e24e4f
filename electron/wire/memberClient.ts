import { type CallOptions, type ClientUnaryCall, Metadata, type ServiceError } from '@grpc/grpc-js';
import { clientOptions } from './channelOptions.ts';
import { channelCredentials } from './credentials.ts';
import {
  MemberClient as GeneratedClient,
  type HelloReply,
  type HelloRequest,
  type LinkStageRequest,
  type RunStageRequest,
  type StageEvent,
} from './generated/roomful/v1/member.ts';
import { wireErrorOf } from './refusal.ts';
import type { TlsMaterial } from './tlsMaterial.ts';
import { DeadlineExceeded, type WireError, WrongPeer } from './wireError.ts';

const HELLO_TIMEOUT_MS = 3000;
const LINK_TIMEOUT_MS = 15_000;
/** Longest silence of a member that cuts or loads a stage. */
const LOAD_SILENCE_MS = 150_000;

/** Asks another member; one connection, kept until `close`. Every method rejects with a WireError. */
export class MemberClient {
  readonly address: string;
  readonly member: string;
  readonly #client: GeneratedClient;
  #wrongPeer: string | null = null;

  constructor(options: { address: string; member: string; tls: TlsMaterial }) {
    this.address = options.address;
    this.member = options.member;
    const credentials = channelCredentials(options.tls, options.member, (found) => {
      this.#wrongPeer = found;
    });
    this.#client = new GeneratedClient(options.address, credentials, clientOptions);
  }

  hello(request: HelloRequest, timeoutMs = HELLO_TIMEOUT_MS): Promise<HelloReply> {
    return this.#unary('Hello', timeoutMs, (metadata, options, done) =>
      this.#client.hello(request, metadata, options, done),
    );
  }

  async linkStage(request: LinkStageRequest, timeoutMs = LINK_TIMEOUT_MS): Promise<void> {
    await this.#unary('Linking a stage', timeoutMs, (metadata, options, done) =>
      this.#client.linkStage(request, metadata, options, done),
    );
  }

  /**
   * Runs a stage on the member for as long as the iteration goes on: leaving it, or `signal`, unloads the stage. Ends when
   * the member has ended the stage, throws when it refused or was lost. Until the stage is loaded each event must come
   * within `silenceMs`; after that a hung member is found out by keepalive.
   */
  async *runStage(
    request: RunStageRequest,
    signal?: AbortSignal,
    silenceMs = LOAD_SILENCE_MS,
  ): AsyncGenerator<StageEvent, void, void> {
    const call = this.#client.runStage(request);
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
    }, silenceMs);
    try {
      for await (const event of call) {
        if (event.loaded === undefined) timer.refresh();
        else clearTimeout(timer);
        yield event;
      }
    } catch (error) {
      if (silent) throw new DeadlineExceeded('Loading a stage', silenceMs, { cause: error });
      throw this.#errorOf(error, { what: 'Running a stage', up, timeoutMs: silenceMs });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      call.cancel();
    }
  }

  close(): void {
    this.#client.close();
  }

  #unary<Reply>(
    what: string,
    timeoutMs: number,
    start: (
      metadata: Metadata,
      options: Partial<CallOptions>,
      done: (error: ServiceError | null, reply: Reply) => void,
    ) => ClientUnaryCall,
  ): Promise<Reply> {
    return new Promise((resolve, reject) => {
      start(new Metadata(), { deadline: Date.now() + timeoutMs }, (error, reply) => {
        if (error === null) resolve(reply);
        else reject(this.#errorOf(error, { what, up: false, timeoutMs }));
      });
    });
  }

  #errorOf(error: unknown, call: { what: string; up: boolean; timeoutMs: number }): unknown {
    if (!isServiceError(error)) return error;
    if (!call.up && this.#wrongPeer !== null) {
      const found = this.#wrongPeer;
      this.#wrongPeer = null;
      return new WrongPeer(this.address, this.member, found, { cause: error });
    }
    const wireError: WireError = wireErrorOf(error, { ...call, address: this.address });
    return wireError;
  }
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'details' in error && 'metadata' in error && 'code' in error;
}
