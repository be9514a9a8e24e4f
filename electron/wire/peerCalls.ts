import {
  type CallOptions,
  type ChannelCredentials,
  type ClientUnaryCall,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import { channelCredentials } from './credentials.ts';
import { wireErrorOf } from './refusal.ts';
import type { TlsMaterial } from './tlsMaterial.ts';
import { WrongPeer } from './wireError.ts';

/** The member that a client asks, and what the client speaks with. */
export interface Peer {
  /** `host:port`. */
  address: string;
  member: string;
  tls: TlsMaterial;
}

/** What the clients of a member's services share: who must answer, and what becomes of a call that fails. */
export class PeerCalls {
  readonly address: string;
  readonly member: string;
  readonly credentials: ChannelCredentials;
  #wrongPeer: string | null = null;

  constructor({ address, member, tls }: Peer) {
    this.address = address;
    this.member = member;
    this.credentials = channelCredentials(tls, member, (found) => {
      this.#wrongPeer = found;
    });
  }

  /** Makes a call of one request and one reply; `what` it is about is for messages. Rejects with a WireError. */
  unary<Reply>(
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
        else reject(this.errorOf(error, { what, up: false, timeoutMs }));
      });
    });
  }

  /** What to throw for what a call threw. `up` tells whether it had been accepted before it failed. */
  errorOf(error: unknown, call: { what: string; up: boolean; timeoutMs: number }): unknown {
    if (!isServiceError(error)) return error;
    if (!call.up && this.#wrongPeer !== null) {
      const found = this.#wrongPeer;
      this.#wrongPeer = null;
      return new WrongPeer(this.address, this.member, found, { cause: error });
    }
    return wireErrorOf(error, { ...call, address: this.address });
  }
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'details' in error && 'metadata' in error && 'code' in error;
}
