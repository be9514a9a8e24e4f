import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { streamLines } from './streamLines.ts';

test('a value is a line, the same twice is one, and silence is broken by empty lines until the client goes', async () => {
  let ended = 0;
  // The client opens another connection ahead of its next request, and closing would wait for it.
  const app = Fastify({ forceCloseConnections: true });
  app.get('/', async (_request, reply) => {
    const subscribe = (send: (value: unknown) => void) => {
      for (const value of [[1], [1], [2]]) send(value);
      return () => {
        ended += 1;
      };
    };
    streamLines(reply, subscribe, 20);
  });
  const response = await fetch(await app.listen({ port: 0, host: '127.0.0.1' }));
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk);
    if (text.endsWith('\n\n\n')) break;
  }
  expect(text).toMatch(/^\[1]\n\[2]\n\n\n+$/);
  await expect.poll(() => ended).toBe(1);
  await app.close();
});
