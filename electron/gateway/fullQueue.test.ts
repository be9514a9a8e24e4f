import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { listen, type RunningGateway } from './testing/demoGateway.ts';
import { servedModels, type WholeModel, wholeModel } from './testing/wholeModel.ts';

const demoModelPath = fileURLToPath(new URL('../../resources/demo/demo.gguf', import.meta.url));
/** 1 to 60. */
const seconds = /^([1-9]|[1-5]\d|60)$/;
const messages = [{ role: 'user', content: 'Count to ten.' }];

let model: WholeModel;
let gateway: RunningGateway;
beforeAll(async () => {
  model = await wholeModel(demoModelPath, { id: 'demo', contextLength: 2048, slots: 1, queueLimit: 2 });
  gateway = await listen({ models: servedModels(model) });
});
afterAll(async () => {
  await gateway.app.close();
  await model.dispose();
});

function post(path: string, body: object, signal?: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  const text = JSON.stringify({ model: 'demo', ...body });
  return fetch(`${gateway.base}${path}`, { method: 'POST', headers, body: text, ...(signal && { signal }) });
}

/** One that goes on to the end of the context. */
function endless(signal: AbortSignal): Promise<Response> {
  const logit_bias = Object.fromEntries([...model.endTokens].map((token) => [token, -100]));
  return post('/v1/chat/completions', { messages, logit_bias, temperature: 0, stream: true }, signal);
}

it('a queue that is full is told as 429 on every route, and has room again once somebody leaves', async () => {
  const leaving = new AbortController();
  const taken = [endless(leaving.signal), endless(leaving.signal), endless(leaving.signal)];
  await vi.waitUntil(() => model.running() === 3, { timeout: 30_000 });
  expect((await Promise.all(taken)).map(({ status }) => status)).toEqual([200, 200, 200]);

  for (const [path, body] of [
    ['/v1/chat/completions', { messages }],
    ['/v1/chat/completions', { messages, stream: true }],
    ['/v1/chat/completions', { messages, n: 2 }],
    ['/v1/completions', { prompt: 'One, two' }],
    ['/v1/completions', { prompt: 'One, two', stream: true }],
    ['/v1/responses', { input: 'One, two' }],
    ['/v1/responses', { input: 'One, two', stream: true }],
    ['/v1/embeddings', { input: 'One, two' }],
  ] as const) {
    const answer = await post(path, body);
    expect([path, answer.status]).toEqual([path, 429]);
    expect(answer.headers.get('retry-after')).toMatch(seconds);
    expect(await answer.json()).toEqual({
      error: {
        message: expect.stringMatching(/2 requests are waiting/),
        type: 'rate_limit_error',
        param: null,
        code: 'queue_full',
      },
    });
  }
  for (const stream of [true, false]) {
    const answer = await post('/api/chat', { messages, stream });
    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toMatch(seconds);
    expect(await answer.json()).toEqual({ error: expect.stringMatching(/2 requests are waiting/) });
  }

  leaving.abort();
  await vi.waitUntil(() => model.running() === 0, { timeout: 30_000 });
  const answer = await post('/v1/chat/completions', { messages, temperature: 0, max_tokens: 4 });
  expect(answer.status).toBe(200);
}, 60_000);
