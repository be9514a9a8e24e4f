import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ServedModel } from '../pipeline/serving/servedModel.ts';
import { promptTokens } from './promptTokens.ts';
import { DEMO_MODEL_ID, demoGateway } from './testing/demoGateway.ts';
import { rawHttp } from './testing/rawHttp.ts';

let gateway: Awaited<ReturnType<typeof demoGateway>>;
beforeAll(async () => {
  gateway = await demoGateway();
});
afterAll(() => gateway.close());

/** The model, with the lengths of the texts that its tokenizer is given. */
function watched(): { model: ServedModel; lengths: number[] } {
  const lengths: number[] = [];
  const { model: real } = gateway;
  const model = new Proxy<ServedModel>(real, {
    get: (target, key) => {
      if (key !== 'tokenize') return Reflect.get(target, key, target);
      return (text: string, options: Parameters<ServedModel['tokenize']>[1]) => {
        lengths.push(text.length);
        return real.tokenize(text, options);
      };
    },
  });
  return { model, lengths };
}

const turn = '<|im_start|>user\nWhat is a hop?<|im_end|>\n';

it('cuts a long prompt where control tokens begin, to the same tokens', async () => {
  const { model, lengths } = watched();
  const text = turn.repeat(500);
  const cut = await promptTokens([{ text, plain: false }], model, 1_000_000);
  expect(lengths.length).toBeGreaterThan(1);
  expect(Math.max(...lengths)).toBeLessThan(2 * 8192);
  expect(cut).toEqual({
    tokens: await gateway.model.tokenize(text, { addSpecial: true, parseSpecial: true }),
    whole: true,
  });
});

it('looks for no more tokens than there is room for', async () => {
  const { model, lengths } = watched();
  const many = await promptTokens([{ text: turn.repeat(100_000), plain: false }], model, 2047);
  expect(many.whole).toBe(false);
  expect(many.tokens.length).toBeGreaterThan(2047);
  const plain = await promptTokens([{ text: 'a hop '.repeat(1_000_000), plain: true }], model, 2047);
  expect(plain.whole).toBe(false);
  expect(plain.tokens.length).toBeGreaterThan(2047);
  expect(lengths.reduce((sum, length) => sum + length, 0)).toBeLessThan(400_000);
});

const ask = (path: string, body: object) =>
  rawHttp(gateway.port, {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: DEMO_MODEL_ID, max_tokens: 1, ...body }),
  });
const hello = { role: 'user', content: 'x' };

it.each<[string, string, object, string]>([
  [
    'a hundred thousand messages',
    '/v1/chat/completions',
    { messages: new Array(100_000).fill(hello) },
    'The chat has 100000 messages, and the context of demo holds 2048 tokens; leave older ones out.',
  ],
  [
    'five megabytes of control tokens',
    '/v1/completions',
    { prompt: '<|im_end|>'.repeat(500_000) },
    'The prompt is at least ',
  ],
  [
    'five megabytes that only look like control tokens',
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: '<|im_end|>'.repeat(500_000) }] },
    'The prompt is at least ',
  ],
  ['seven megabytes of text', '/v1/embeddings', { input: 'a hop '.repeat(1_200_000) }, 'The prompt is at least '],
])(
  'refuses %s, and the next request is served',
  async (_name, path, body, message) => {
    const refused = await ask(path, body);
    expect(refused.status, refused.text).toBe(400);
    const { error } = JSON.parse(refused.text);
    expect(error.code).toBe('context_length_exceeded');
    expect(error.message.startsWith(message), error.message).toBe(true);
    expect((await ask('/v1/chat/completions', { messages: [hello] })).status).toBe(200);
  },
  60_000,
);
