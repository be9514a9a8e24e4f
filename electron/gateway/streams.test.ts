import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PipelineError } from '../pipeline/pipelineError.ts';
import type { ServedModel } from '../pipeline/serving/servedModel.ts';
import { DEMO_MODEL_ID, demoGateway, listen } from './testing/demoGateway.ts';
import { servedModels } from './testing/wholeModel.ts';

let gateway: Awaited<ReturnType<typeof demoGateway>>;
beforeAll(async () => {
  gateway = await demoGateway();
});
afterAll(() => gateway.close());

/** As the demo model's own template has it. */
const prompt = '<|im_start|>user\nCount to ten.<|im_end|>\n<|im_start|>assistant\n';
const messages = [{ role: 'user', content: 'Count to ten.' }];
const sse = { idle: ': keep-alive\n\n', lost: 'data: {"error":{"message":"The stage is lost."' };
const lines = { idle: '"done":false}\n', lost: '\n{"error":"The stage is lost."}\n' };
const routes = [
  { path: '/v1/chat/completions', body: { messages }, ...sse },
  { path: '/v1/completions', body: { prompt, max_tokens: 500 }, ...sse },
  { path: '/v1/responses', body: { input: 'Count to ten.' }, ...sse, lost: 'event: response.failed\n' },
  { path: '/api/chat', body: { messages }, ...lines },
  { path: '/api/generate', body: { prompt: 'Count to ten.' }, ...lines },
];

function send(port: number, path: string, body: object) {
  const headers = { 'content-type': 'application/json' };
  const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', path, headers, agent: false });
  request.on('error', () => {});
  request.end(JSON.stringify({ model: DEMO_MODEL_ID, ...body }));
  return request;
}

async function answerOf(request: ReturnType<typeof send>): Promise<IncomingMessage> {
  const [response]: IncomingMessage[] = await once(request, 'response');
  if (response === undefined) throw new Error('no response');
  return response.setEncoding('utf8');
}

/** The demo model that says nothing until it is let go, and how many requests are with it. */
function waiting(): { model: ServedModel; begun: () => number; running: () => number; letGo: () => void } {
  let letGo = (): void => {};
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let begun = 0;
  let running = 0;
  const held = async (signal: AbortSignal): Promise<void> => {
    const left = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    await Promise.race([gate, left]);
  };
  const within = async <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    begun += 1;
    running += 1;
    try {
      await held(signal);
      return await work();
    } finally {
      running -= 1;
    }
  };
  const model: ServedModel = {
    ...gateway.model,
    generate: async function* (request, signal) {
      await within(signal, async () => {});
      yield* gateway.model.generate(request, signal);
    },
    embed: (request, signal) => within(signal, () => gateway.model.embed(request, signal)),
  };
  return { model, begun: () => begun, running: () => running, letGo };
}

describe.each(routes)('a stream of $path', ({ path, body, idle, lost }) => {
  it('has headers at once and signs of life while nothing comes, then the whole answer', async () => {
    const { model, letGo } = waiting();
    const other = await listen({ models: servedModels(model), keepAliveMs: 5 });
    const response = await answerOf(send(other.port, path, { ...body, stream: true, temperature: 0 }));
    expect(response.statusCode).toBe(200);
    let text = '';
    for await (const chunk of response) {
      text += chunk;
      if (text.split(idle).length > 3) letGo();
    }
    expect(text).toMatch(/\[DONE\]\n\n$|"done":true[^\n]*\n$|response\.completed[^\n]*\n\n$/);
    expect(gateway.model.running()).toBe(0);
    await other.app.close();
  });

  it('that fails in its midst says so last', async () => {
    const model: ServedModel = {
      ...gateway.model,
      generate: async function* (request, signal) {
        let count = 0;
        for await (const token of gateway.model.generate(request, signal)) {
          yield token;
          count += 1;
          if (count === 3) throw new PipelineError('StageLost', 'The stage is lost.');
        }
      },
    };
    const other = await listen({ models: servedModels(model) });
    const response = await answerOf(send(other.port, path, { ...body, stream: true }));
    let text = '';
    for await (const chunk of response) text += chunk;
    const last = text.lastIndexOf(lost);
    expect(last, text).toBeGreaterThan(0);
    expect(text.slice(last).trim().split('\n').length).toBeLessThanOrEqual(2);
    expect(text).not.toContain('[DONE]');
    expect(gateway.model.running()).toBe(0);
    await other.app.close();
  });
});

/** So many texts that nobody misses the midst of it. */
const input = Array.from({ length: 200 }, (_, n) => `Text ${n}`);
const left = [
  ...routes.map(({ path, body }) => ({ path, body, streams: [true, false] })),
  { path: '/v1/embeddings', body: { input }, streams: [false] },
];
describe.each(left)('a client of $path', ({ path, body, streams }) => {
  it.each(streams)('that leaves while it waits leaves nothing running (stream: %s)', async (stream) => {
    const { model, begun, running } = waiting();
    const other = await listen({ models: servedModels(model) });
    const request = send(other.port, path, { ...body, stream });
    await vi.waitUntil(() => begun() > 0, { timeout: 30_000 });
    request.destroy();
    await vi.waitUntil(() => running() === 0, { timeout: 30_000 });
    expect(other.lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
    await other.app.close();
  });

  it('that leaves in the midst of it gives the real model its slot back', async () => {
    const request = send(gateway.port, path, { ...body, stream: streams.includes(true) });
    if (streams.includes(true)) {
      const response = await answerOf(request);
      await once(response, 'data');
    } else await vi.waitUntil(() => gateway.model.running() > 0, { timeout: 30_000, interval: 1 });
    request.destroy();
    await vi.waitUntil(() => gateway.model.running() === 0, { timeout: 30_000 });
  });
});
