import type { ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { peerOf } from './peerOf.ts';
import { refusal, refusalOf } from './refusal.ts';

/** Answers calls of one request and one reply. What `answer` throws reaches the caller as CallRefused with its `kind`. */
export function unaryHandler<Request, Reply>(answer: (request: Request, peer: string) => Promise<Reply>) {
  return (call: ServerUnaryCall<Request, Reply>, reply: sendUnaryData<Reply>): void => {
    const peer = peerOf(call);
    if (peer === null) {
      reply(refusal('Uncertified', 'A certificate of this pool is needed.'));
      return;
    }
    answer(call.request, peer).then(
      (value) => reply(null, value),
      (error: unknown) => reply(refusalOf(error)),
    );
  };
}
