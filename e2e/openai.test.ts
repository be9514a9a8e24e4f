import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cases, expectCase, firstTokenOfPlain } from '../electron/gateway/testing/openaiCases.ts';
import { demoCorpus, demoModelPath } from './testing/demoCorpus.ts';
import { TestRoom } from './testing/testRoom.ts';

let room: TestRoom;
let model: string;
let firstToken: number;

beforeAll(async () => {
  room = await TestRoom.forModel(demoModelPath, 3);
  const serving = await room.serve({ modelPath: demoModelPath });
  expect(serving.placement).toHaveLength(3);
  model = serving.id;
  firstToken = await firstTokenOfPlain(serving);
}, 180_000);
afterAll(() => room.close());

describe('the cases of e2e/cases/openai, answered by three members', () => {
  for (const one of cases) it(one.name, () => expectCase({ port: room.port, model, firstToken }, one));
});

it('takes a burst that is longer than the queue without losing a stage', async () => {
  const ask = async (content: string): Promise<number> => {
    const response = await fetch(`${room.lead.gateway}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content }], max_tokens: 1 }),
    });
    await response.text();
    return response.status;
  };
  const burst = Array.from({ length: 150 }, (_, index) => ask(`Request ${index}`));
  for (const status of await Promise.all(burst)) expect([200, 429]).toContain(status);
  expect(await ask('And now?')).toBe(200);
}, 180_000);

describe('the official client', () => {
  const [known] = demoCorpus();
  const messages = [{ role: 'user' as const, content: known?.questions[0] ?? '' }];
  const client = () => new OpenAI({ baseURL: `${room.lead.gateway}/v1`, apiKey: 'unused' });

  it('lists the model', async () => {
    const ids: string[] = [];
    for await (const { id } of client().models.list()) ids.push(id);
    expect(ids).toEqual([model]);
  });

  it('gets a whole answer, with its usage', async () => {
    const { choices, usage } = await client().chat.completions.create({ model, messages, temperature: 0 });
    expect(choices[0]?.message.content).toBe(known?.answer);
    expect(choices[0]?.finish_reason).toBe('stop');
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
  });

  it('gets the same answer in pieces', async () => {
    const options = { stream: true, stream_options: { include_usage: true } } as const;
    const stream = await client().chat.completions.create({ model, messages, temperature: 0, ...options });
    const pieces: string[] = [];
    let usage: OpenAI.CompletionUsage | null = null;
    for await (const chunk of stream) {
      pieces.push(chunk.choices[0]?.delta.content ?? '');
      usage = chunk.usage ?? usage;
    }
    expect(pieces.join('')).toBe(known?.answer);
    expect(pieces.filter((piece) => piece !== '').length).toBeGreaterThan(5);
    expect(usage?.completion_tokens).toBeGreaterThan(5);
  });

  it('leaves when it is told to, and throws what it is told', async () => {
    const stream = await client().chat.completions.create({ model, messages, temperature: 0, stream: true });
    for await (const _ of stream) break;
    const wrong = client().chat.completions.create({ model: 'nobody', messages });
    await expect(wrong).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });
});
