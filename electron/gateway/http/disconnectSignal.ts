import type { FastifyReply } from 'fastify';

/** Aborts as soon as the client is gone before its answer was complete, or the gateway closes. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const { raw } = reply;
  const left = (): void => {
    if (!raw.writableFinished) controller.abort(new DOMException('The client left.', 'AbortError'));
  };
  if (raw.destroyed) left();
  else raw.once('close', left);
  return controller.signal;
}
