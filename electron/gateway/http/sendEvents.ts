import { once } from 'node:events';
import type { FastifyReply } from 'fastify';
import { asGatewayError } from '../gatewayError.ts';

export interface EventStreamOptions {
  /** Aborted when the client is gone; ends the stream. */
  signal: AbortSignal;
  /** After so many ms without an event a comment line is sent, so that nobody between gives up. */
  keepAliveMs: number;
  /** Told once when the stream ends with an error, which the client gets as its last event. */
  onError: (error: unknown) => void;
  /** For an API that names its events by their `type`, and says in one of them that it has failed. */
  named?: { failure: (error: unknown) => { type: string } };
}

/**
 * Sends events as they come: the headers at once, each event as `data: JSON`, `data: [DONE]` at the end unless they have names. An
 * error in mid-stream is sent as `data: {"error": ...}`, without [DONE]. The next event is pulled only when the client has room for it.
 */
export async function sendEvents(
  reply: FastifyReply,
  events: AsyncIterable<object>,
  { signal, keepAliveMs, onError, named }: EventStreamOptions,
): Promise<void> {
  reply.hijack();
  const { raw } = reply;
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
  // With the first event, where it is there already.
  raw.cork();
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    connection: 'keep-alive',
    'x-accel-buffering': 'no',
  });
  raw.flushHeaders();
  process.nextTick(() => raw.uncork());
  const keepAlive = setInterval(() => {
    if (!raw.writableNeedDrain && raw.writable) raw.write(': keep-alive\n\n');
  }, keepAliveMs);
  const send = async (data: string, name = ''): Promise<void> => {
    keepAlive.refresh();
    if (!raw.write(`${name}data: ${data}\n\n`)) await once(raw, 'drain', { signal });
  };
  try {
    for await (const event of events) {
      if (signal.aborted) break;
      await send(JSON.stringify(event), named === undefined || !('type' in event) ? '' : `event: ${event.type}\n`);
    }
    if (!signal.aborted && named === undefined) await send('[DONE]');
  } catch (error) {
    if (!signal.aborted) {
      onError(error);
      const failure = named?.failure(error);
      const name = failure === undefined ? '' : `event: ${failure.type}\n`;
      raw.write(`${name}data: ${JSON.stringify(failure ?? asGatewayError(error).body())}\n\n`);
    }
  } finally {
    clearInterval(keepAlive);
    raw.end();
  }
}
