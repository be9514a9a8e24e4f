import type { FastifyReply } from 'fastify';
import { disconnectSignal } from './http/disconnectSignal.ts';

/** Node's fetch gives up a stream that says nothing for five minutes. */
const QUIET_MS = 60_000;

/**
 * Answers with a JSON value a line for as long as the client stays; the same value twice in a row once, and an empty line where
 * there is nothing to say for `quietMs`.
 */
export function streamLines(
  reply: FastifyReply,
  subscribe: (send: (value: unknown) => void) => () => void,
  quietMs: number = QUIET_MS,
): void {
  const signal = disconnectSignal(reply);
  reply.hijack();
  reply.raw.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8', 'cache-control': 'no-cache' });
  const alive = setInterval(() => reply.raw.write('\n'), quietMs);
  let last = '';
  const end = subscribe((value) => {
    const line = JSON.stringify(value);
    if (line === last) return;
    last = line;
    alive.refresh();
    reply.raw.write(`${line}\n`);
  });
  const stop = (): void => {
    clearInterval(alive);
    end();
  };
  signal.addEventListener('abort', stop, { once: true });
}
