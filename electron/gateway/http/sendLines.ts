import { once } from 'node:events';
import type { FastifyReply } from 'fastify';

/**
 * Sends values as they come, one JSON value a line, the headers at once. An error in mid-stream is the last line, as
 * `wordError` words it. The next value is pulled only when the client has room for it; `signal` is aborted when it is gone.
 */
export async function sendLines(
  reply: FastifyReply,
  values: AsyncIterable<object>,
  { signal, wordError }: { signal: AbortSignal; wordError: (error: unknown) => object },
): Promise<void> {
  reply.hijack();
  const { raw } = reply;
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
  raw.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8', 'cache-control': 'no-cache' });
  raw.flushHeaders();
  try {
    for await (const value of values) {
      if (signal.aborted) break;
      if (!raw.write(`${JSON.stringify(value)}\n`)) await once(raw, 'drain', { signal });
    }
  } catch (error) {
    if (!signal.aborted) raw.write(`${JSON.stringify(wordError(error))}\n`);
  } finally {
    raw.end();
  }
}
