import { ServerInterceptingCall, type ServerInterceptingCallInterface, type ServerInterceptor } from '@grpc/grpc-js';
import { peerOf } from './peerOf.ts';
import { refusal } from './refusal.ts';

/** The calls that run on a server, by the member that made them, and who may make any. */
export class CallRegistry {
  readonly #calls = new Map<string, Set<ServerInterceptingCallInterface>>();
  readonly interceptor: ServerInterceptor;

  /**
   * `admits` decides for every call, by the member's certificate and the path of the method; `onRefused` hears of those
   * that it turned away.
   */
  constructor(admits: (member: string, path: string) => boolean, onRefused: (member: string | null) => void) {
    this.interceptor = ({ path }, call) => {
      const member = peerOf(call);
      if (member !== null && admits(member, path)) return this.#follow(member, call);
      onRefused(member);
      const answer =
        member === null
          ? refusal('Uncertified', 'A certificate of this pool is needed.')
          : refusal('NotAdmitted', 'This member is not in the pool, or no longer.');
      return new ServerInterceptingCall(call, { start: () => call.sendStatus(answer) });
    };
  }

  /** Ends every call of a member at once; each is told that the member is not in the pool any more. */
  end(member: string): void {
    const calls = [...(this.#calls.get(member) ?? [])];
    this.#calls.delete(member);
    for (const call of calls) call.sendStatus(refusal('NotAdmitted', 'This member was removed from the pool.'));
  }

  #follow(member: string, call: ServerInterceptingCallInterface): ServerInterceptingCall {
    const running = this.#calls.get(member) ?? new Set();
    this.#calls.set(member, running.add(call));
    const forget = (): void => {
      running.delete(call);
      if (running.size === 0 && this.#calls.get(member) === running) this.#calls.delete(member);
    };
    return new ServerInterceptingCall(call, {
      start: (next) => next({ onCancel: forget }),
      sendStatus: (status, next) => {
        forget();
        next(status);
      },
    });
  }
}
