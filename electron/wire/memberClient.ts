import { clientOptions } from './channelOptions.ts';
import {
  MemberClient as GeneratedClient,
  type HelloReply,
  type HelloRequest,
  type LinkStageRequest,
  type RunStageRequest,
  type StageEvent,
} from './generated/roomful/v1/member.ts';
import { type Peer, PeerCalls } from './peerCalls.ts';
import { DeadlineExceeded } from './wireError.ts';

const HELLO_TIMEOUT_MS = 3000;
const LINK_TIMEOUT_MS = 15_000;
/** Longest silence of a member that cuts or loads a stage. */
const LOAD_SILENCE_MS = 150_000;

/** Asks another member; one connection, kept until `close`. Every method rejects with a WireError. */
export class MemberClient {
  readonly address: string;
  readonly member: string;
  readonly #calls: PeerCalls;
  readonly #client: GeneratedClient;

  constructor(peer: Peer) {
    this.address = peer.address;
    this.member = peer.member;
    this.#calls = new PeerCalls(peer);
    this.#client = new GeneratedClient(peer.address, this.#calls.credentials, clientOptions);
  }

  hello(request: HelloRequest, timeoutMs = HELLO_TIMEOUT_MS): Promise<HelloReply> {
    return this.#calls.unary('Hello', timeoutMs, (metadata, options, done) =>
      this.#client.hello(request, metadata, options, done),
    );
  }

  async linkStage(request: LinkStageRequest, timeoutMs = LINK_TIMEOUT_MS): Promise<void> {
    await this.#calls.unary('Linking a stage', timeoutMs, (metadata, options, done) =>
      this.#client.linkStage(request, metadata, options, done),
    );
  }

  /**
   * Runs a stage on the member for as long as the iteration goes on: leaving it, or `signal`, unloads the stage. Ends when
   * the member has ended the stage, throws when it refused or was lost. Until the stage is loaded each event must come
   * within `silenceMs`; after that a hung member is found out by `endWhenSilent`.
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
      throw this.#calls.errorOf(error, { what: 'Running a stage', up, timeoutMs: silenceMs });
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
