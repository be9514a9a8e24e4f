import { afterAll, beforeAll, expect, it } from 'vitest';
import { generateEmbedder } from '../../../e2e/models/generateEmbedder.ts';
import { temporaryFolder } from '../../gguf/testing/temporaryFolder.ts';
import { listen, type RunningGateway } from '../testing/demoGateway.ts';
import { rawHttp } from '../testing/rawHttp.ts';
import { servedModels, type WholeModel, wholeModel } from '../testing/wholeModel.ts';

const folder = temporaryFolder();
let model: WholeModel;
let gateway: RunningGateway;

beforeAll(async () => {
  await folder.make();
  const shape = { layers: 2, width: 64, heads: 4, feedForward: 128, contextLength: 32, pooling: 1, seed: 2 };
  const path = await generateEmbedder(folder.at('bert.gguf'), shape);
  model = await wholeModel(path, { id: 'bert', contextLength: 32, slots: 4 });
  gateway = await listen({ models: servedModels(model) });
});
afterAll(async () => {
  await gateway.app.close();
  await model.dispose();
  await folder.remove();
});

async function ask(path: string, body: object): Promise<{ status: number; answer: Record<string, unknown> }> {
  const { status, text } = await rawHttp(gateway.port, {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'bert', ...body }),
  });
  return { status, answer: JSON.parse(text) };
}
const embed = (body: object) => ask('/v1/embeddings', body);

it('is listed as one that gives vectors', async () => {
  const { text } = await rawHttp(gateway.port, { method: 'GET', path: '/v1/models' });
  expect(JSON.parse(text).data).toMatchObject([{ id: 'bert', meta: { n_ctx: 32 }, capabilities: ['embedding'] }]);
  expect((await ask('/api/show', {})).answer).toMatchObject({ capabilities: ['embedding'] });
});

it.each([
  ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Rain?' }] }],
  ['/v1/completions', { prompt: 'Rain' }],
  ['/v1/responses', { input: 'Rain?' }],
])('writes no text: %s', async (path, body) => {
  const { status, answer } = await ask(path, body);
  expect(status).toBe(400);
  expect(answer).toEqual({
    error: {
      message: expect.stringMatching(/^bert is an embedding model.*\/v1\/embeddings/),
      type: 'invalid_request_error',
      param: 'model',
      code: 'model_not_supported',
    },
  });
});

it.each([
  ['/api/chat', { messages: [{ role: 'user', content: 'Rain?' }] }],
  ['/api/generate', { prompt: 'Rain' }],
])('writes no text in the shapes of Ollama either: %s', async (path, body) => {
  const { status, answer } = await ask(path, body);
  expect([status, answer]).toEqual([400, { error: expect.stringMatching(/embedding model/) }]);
});

it('gives many texts of one request their vectors in order, and counts their tokens', async () => {
  const input = Array.from({ length: 40 }, (_, index) => ['rain', 'a hop', 'bread and butter'][index % 3] ?? '');
  const { status, answer } = await embed({ input });
  expect(status).toBe(200);
  const { data, usage } = answer as {
    data: { index: number; embedding: number[] }[];
    usage: { prompt_tokens: number; total_tokens: number };
  };
  expect(data.map(({ index }) => index)).toEqual(input.map((_, index) => index));
  for (const [index, { embedding }] of data.entries()) {
    const first = data[index % 3]?.embedding ?? [];
    for (const [at, value] of embedding.entries()) expect(value).toBeCloseTo(first[at] ?? 0, 4);
  }
  const counts = await Promise.all(
    input.map((text) => model.tokenize(text, { addSpecial: true, parseSpecial: false })),
  );
  const tokens = counts.reduce((sum, { length }) => sum + length, 0);
  expect(usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens });
});

it('counts the marks around a text against its context', async () => {
  // Of a word each, and two marks.
  expect((await embed({ input: new Array(30).fill('rain').join(' ') })).status).toBe(200);
  const { status, answer } = await embed({ input: new Array(31).fill('rain').join(' ') });
  expect([status, answer.error]).toMatchObject([400, { param: 'input', code: 'context_length_exceeded' }]);
  expect(JSON.stringify(answer)).toMatch(/33.*32/);
});
