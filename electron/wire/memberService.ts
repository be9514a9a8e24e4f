import type { ServerWritableStream } from '@grpc/grpc-js';
import { assertCoordinator } from './assertCoordinator.ts';
import {
  type HelloReply,
  type HelloRequest,
  type MemberServer,
  MemberService,
  type RunStageRequest,
  type StageEvent,
} from './generated/roomful/v1/member.ts';
import { type LinkStageOrder, parseLinkStage, parseRunStage, type RunStageOrder } from './orders.ts';
import { peerOf } from './peerOf.ts';
import { refusal, refusalOf } from './refusal.ts';
import { unaryHandler } from './unaryHandler.ts';
import type { ServedService } from './wireServer.ts';

/**
 * What a member does when another member asks; orders for stages come from the coordinator that they name, or from the member
 * itself where that has told it to drive a pipeline. What these throw reaches the caller as CallRefused with its `kind`.
 */
export interface MemberHandlers {
  /** Id of this member, whose own orders are taken in the coordinator's name. */
  self(): string;
  hello(request: HelloRequest, peer: string): Promise<HelloReply>;
  /** Runs until the stage is done or `signal` says that nobody wants it any more. */
  runStage(
    order: RunStageOrder,
    call: { peer: string; emit(event: StageEvent): void; signal: AbortSignal },
  ): Promise<void>;
  linkStage(order: LinkStageOrder, peer: string): Promise<void>;
}

/** The control plane of a member as a gRPC service. */
export function memberService(handlers: MemberHandlers): ServedService {
  const implementation: MemberServer = {
    hello: unaryHandler((request, peer) => handlers.hello(request, peer)),
    linkStage: unaryHandler(async (request, peer) => {
      const order = parseLinkStage(request);
      if (peer !== handlers.self()) assertCoordinator(order.epoch, peer);
      await handlers.linkStage(order, peer);
      return {};
    }),
    runStage: (call) => {
      runStage(call, handlers).then(
        () => call.end(),
        (error: unknown) => call.emit('error', refusalOf(error)),
      );
    },
  };
  return { definition: MemberService, handlers: { ...implementation } };
}

async function runStage(
  call: ServerWritableStream<RunStageRequest, StageEvent>,
  handlers: MemberHandlers,
): Promise<void> {
  const peer = peerOf(call);
  if (peer === null) throw refusal('Uncertified', 'A certificate of this pool is needed.');
  const wanted = new AbortController();
  call.on('cancelled', () => wanted.abort());
  const emit = (event: StageEvent): void => {
    if (!wanted.signal.aborted) call.write(event);
  };
  const order = parseRunStage(call.request);
  if (peer !== handlers.self()) assertCoordinator(order.epoch, peer);
  await handlers.runStage(order, { peer, emit, signal: wanted.signal });
}
