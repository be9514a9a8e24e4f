import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { DEMO_MODEL_ID, demoGateway } from '../testing/demoGateway.ts';
import { rawHttp } from '../testing/rawHttp.ts';

let gateway: Awaited<ReturnType<typeof demoGateway>>;
let client: OpenAI;
beforeAll(async () => {
  gateway = await demoGateway();
  client = new OpenAI({ baseURL: `${gateway.base}/v1`, apiKey: 'none', maxRetries: 0 });
});
afterAll(() => gateway.close());

const prompt = '<|im_start|>user\nCount to ten.<|im_end|>\n<|im_start|>assistant\n';
const asked = { model: DEMO_MODEL_ID, prompt, temperature: 0, max_tokens: 12 };

async function refused(body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const answer = await rawHttp(gateway.port, {
    method: 'POST',
    path: '/v1/completions',
    headers,
    body: JSON.stringify({ ...asked, ...body }),
  });
  return { status: answer.status, param: JSON.parse(answer.text).error?.param };
}

describe('a legacy completion', () => {
  it('comes whole, from text, a list of one text, and tokens alike', async () => {
    const whole = await client.completions.create(asked);
    expect(whole).toMatchObject({
      id: expect.stringMatching(/^cmpl-[0-9a-f]{24}$/),
      object: 'text_completion',
      choices: [{ index: 0, text: expect.stringMatching(/^One, two, three/), logprobs: null, finish_reason: 'length' }],
      usage: { completion_tokens: 12 },
    });
    const tokens = await gateway.model.tokenize(prompt, { addSpecial: true, parseSpecial: true });
    for (const same of [[prompt], tokens, [tokens]]) {
      const again = await client.completions.create({ ...asked, prompt: same });
      expect(again.choices).toEqual(whole.choices);
      expect(again.usage?.prompt_tokens).toBe(tokens.length);
    }
    const short = await client.completions.create({ model: DEMO_MODEL_ID, prompt, temperature: 0 });
    expect(short.usage?.completion_tokens).toBe(16);
  });

  it('streams the same text and stops before a stop string', async () => {
    const options = { stream: true as const, stream_options: { include_usage: true } };
    const chunks = [];
    const stream = await client.completions.create({ ...asked, ...options, max_tokens: 50, stop: 'ree, fo' });
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map((chunk) => chunk.choices[0]?.text ?? '').join('')).toBe('One, two, th');
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: expect.any(Number) } });
  });

  it('gives log probabilities in the legacy form, streamed the same', async () => {
    const { choices } = await client.completions.create({ ...asked, logprobs: 2 });
    const logprobs = choices[0]?.logprobs;
    expect(logprobs?.tokens).toHaveLength(12);
    expect(logprobs?.tokens?.join('')).toBe(choices[0]?.text);
    logprobs?.tokens?.forEach((token, index) => {
      const offset = logprobs.text_offset?.[index] ?? -1;
      expect(choices[0]?.text.slice(offset, offset + token.length)).toBe(token);
      const top = logprobs.top_logprobs?.[index] ?? {};
      // Greedy takes the most probable one.
      expect(Object.keys(top)).toHaveLength(2);
      expect(top[token]).toBe(logprobs.token_logprobs?.[index]);
      expect(Math.max(...Object.values(top))).toBe(top[token]);
    });
    const streamed: number[] = [];
    for await (const chunk of await client.completions.create({ ...asked, logprobs: 2, stream: true })) {
      streamed.push(...(chunk.choices[0]?.logprobs?.text_offset ?? []));
    }
    expect(streamed).toEqual(logprobs?.text_offset);
  });

  it('repeats the prompt where echo asks for it', async () => {
    const tokens = await gateway.model.tokenize('A hop is', { addSpecial: false, parseSpecial: false });
    const echoed = await client.completions.create({ ...asked, prompt: tokens, echo: true });
    expect(echoed.choices[0]?.text).toMatch(/^A hop is./);
    let text = '';
    for await (const chunk of await client.completions.create({ ...asked, prompt: tokens, echo: true, stream: true })) {
      text += chunk.choices[0]?.text ?? '';
    }
    expect(text).toBe(echoed.choices[0]?.text);
  });

  it('is refused by name where it asks for what is not served', async () => {
    expect(await refused({ suffix: 'end' })).toEqual({ status: 400, param: 'suffix' });
    expect(await refused({ best_of: 3 })).toEqual({ status: 400, param: 'best_of' });
    expect(await refused({ echo: true, logprobs: 1 })).toEqual({ status: 400, param: 'echo' });
    expect(await refused({ logprobs: true })).toEqual({ status: 400, param: 'logprobs' });
    expect(await refused({ prompt: ['one', 'two'] })).toEqual({ status: 400, param: 'prompt' });
    expect(await refused({ prompt: [[1], [2]] })).toEqual({ status: 400, param: 'prompt' });
    expect(await refused({ prompt: [1, 99_999_999] })).toEqual({ status: 400, param: 'prompt' });
    expect(await refused({ prompt: 'word '.repeat(5000) })).toEqual({ status: 400, param: 'prompt' });
    expect(await refused({ n: 9 })).toEqual({ status: 400, param: 'n' });
  });
});

describe('several choices', () => {
  const many = { model: DEMO_MODEL_ID, prompt, temperature: 2, seed: 3, max_tokens: 24, n: 8 };

  it('differ, are the same again from the same seed, and count their prompt once', async () => {
    const first = await client.completions.create(many);
    const texts = first.choices.map(({ text }) => text);
    expect(first.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    // The demo model is so sure that some of eight agree.
    expect(new Set(texts).size).toBeGreaterThan(2);
    const one = await client.completions.create({ ...many, n: 1 });
    expect(one.choices[0]?.text).toBe(texts[0]);
    expect(first.usage?.prompt_tokens).toBe(one.usage?.prompt_tokens);
    expect(first.usage?.completion_tokens).toBeGreaterThan(one.usage?.completion_tokens ?? 0);
  });

  it('stream side by side with the texts that they have whole, chats as well', async () => {
    const messages = [{ role: 'user' as const, content: 'Count to ten.' }];
    const asChat = { model: DEMO_MODEL_ID, messages, temperature: 1.5, seed: 3, max_tokens: 24, n: 3 };
    const whole = await client.chat.completions.create(asChat);
    const texts = ['', '', ''];
    const ends: number[] = [];
    for await (const { choices } of await client.chat.completions.create({ ...asChat, stream: true })) {
      for (const { index, delta, finish_reason: finish } of choices) {
        texts[index] += delta.content ?? '';
        if (finish !== null) ends.push(index);
      }
    }
    expect(texts).toEqual(whole.choices.map(({ message }) => message.content));
    expect(ends.toSorted()).toEqual([0, 1, 2]);
  });

  it('all end when the client leaves', async () => {
    const stream = await client.completions.create({ ...many, max_tokens: 1500, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.text) break;
    stream.controller.abort();
    await vi.waitUntil(() => gateway.model.running() === 0, { timeout: 30_000 });
  });
});

it('says how much of a prompt was there already', async () => {
  const long = { ...asked, prompt: `${prompt}One, two, three, four, five, six, seven, eight, nine, ` };
  const first = await client.completions.create(long);
  expect(first.usage?.prompt_tokens_details?.cached_tokens).toBeTypeOf('number');
  const again = await client.completions.create(long);
  const cached = again.usage?.prompt_tokens_details?.cached_tokens ?? 0;
  expect(cached).toBeGreaterThan(0);
  expect(cached).toBeLessThan(again.usage?.prompt_tokens ?? 0);
});
