import { once } from 'node:events';
import type { FastifyReply } from 'fastify';

export interface LineStreamOptions {
  /** Aborted when the client is gone; ends the stream. */
  signal: AbortSignal;
  /** After so many ms without a value `idle` is sent, so that nobody between gives up. */
  keepAliveMs: number;
  idle: () => object;
  wordError: (error: unknown) => object;
}

/**
 * Sends values as they come, one JSON value a line, the headers at once. An error in mid-stream is the last line, as
 * `wordError` words it. The next value is pulled only when the client has room for it.
 */
export async function sendLines(
  reply: FastifyReply,
  values: AsyncIterable<object>,
  { signal, keepAliveMs, idle, wordError }: LineStreamOptions,
): Promise<void> {
  reply.hijack();
  const { raw } = reply;
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
  // With the first event, where it is there already.
  raw.cork();
  raw.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8', 'cache-control': 'no-cache' });
  raw.flushHeaders();
  process.nextTick(() => raw.uncork());
  const keepAlive = setInterval(() => {
    if (!raw.writableNeedDrain && raw.writable) raw.write(`${JSON.stringify(idle())}\n`);
  }, keepAliveMs);
  try {
    for await (const value of values) {
      if (signal.aborted) break;
      keepAlive.refresh();
      if (!raw.write(`${JSON.stringify(value)}\n`)) await once(raw, 'drain', { signal });
    }
  } catch (error) {
    if (!signal.aborted) raw.write(`${JSON.stringify(wordError(error))}\n`);
  } finally {
    clearInterval(keepAlive);
    raw.end();
  }
}
