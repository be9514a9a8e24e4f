import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServedModel } from '../../pipeline/serving/servedModel.ts';
import { DEMO_MODEL_ID, demoGateway, listen } from '../testing/demoGateway.ts';
import { at } from '../testing/openaiCases.ts';
import { sayingModel } from '../testing/sayingModel.ts';
import { servedModels } from '../testing/wholeModel.ts';

let gateway: Awaited<ReturnType<typeof demoGateway>>;
let client: OpenAI;
beforeAll(async () => {
  gateway = await demoGateway();
  client = new OpenAI({ baseURL: `${gateway.base}/v1`, apiKey: 'none', maxRetries: 0 });
});
afterAll(() => gateway.close());

const weather = tool('weather', {
  type: 'object',
  properties: { city: { enum: ['Oslo', 'Rome'] } },
  required: ['city'],
});
const clock = tool('clock', { type: 'object', properties: { zone: { const: 'UTC' } }, required: ['zone'] });
const question = {
  model: DEMO_MODEL_ID,
  temperature: 0,
  messages: [{ role: 'user' as const, content: 'What is a hop?' }],
};

function schemaOf(city: Record<string, unknown>) {
  const schema = { type: 'object', properties: { city }, required: ['city'], additionalProperties: false };
  return { type: 'json_schema' as const, json_schema: { name: 'place', schema } };
}

function tool(name: string, parameters: Record<string, unknown>) {
  return { type: 'function' as const, function: { name, parameters } };
}

function saying(text: string, template?: string) {
  return sayingModel(gateway.model, text, template);
}

async function askedOf(model: ServedModel, body: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>) {
  const other = await listen({ models: servedModels(model) });
  const own = new OpenAI({ baseURL: `${other.base}/v1`, apiKey: 'none', maxRetries: 0 });
  try {
    const whole = await own.chat.completions.create({ ...question, ...body });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of await own.chat.completions.create({ ...question, ...body, stream: true }))
      chunks.push(chunk);
    return { whole, chunks };
  } finally {
    await other.app.close();
  }
}

/** What the chunks of a stream come to. */
function joined(chunks: readonly OpenAI.ChatCompletionChunk[]) {
  const calls: { id: string; name: string; arguments: string }[] = [];
  let content = '';
  let reasoning = '';
  for (const { choices } of chunks) {
    const delta: OpenAI.ChatCompletionChunk.Choice.Delta & { reasoning_content?: string } = choices[0]?.delta ?? {};
    content += delta.content ?? '';
    reasoning += delta.reasoning_content ?? '';
    for (const { index, id, function: made } of delta.tool_calls ?? []) {
      if (id !== undefined) calls[index] = { id, name: made?.name ?? '', arguments: '' };
      const call = calls[index];
      if (call !== undefined) call.arguments += made?.arguments ?? '';
    }
  }
  return { content, reasoning, calls, finish: chunks.at(-1)?.choices[0]?.finish_reason };
}

describe('a call that must come', () => {
  it.each([
    ['one tool, required', [weather], 'required' as const, 'weather'],
    [
      'two tools, one by its name',
      [weather, clock],
      { type: 'function' as const, function: { name: 'clock' } },
      'clock',
    ],
    [
      'two tools of which one is allowed',
      [weather, clock],
      {
        type: 'allowed_tools' as const,
        allowed_tools: { mode: 'required' as const, tools: [{ type: 'function', function: { name: 'clock' } }] },
      },
      'clock',
    ],
  ])('comes with arguments that keep to the schema: %s', async (_name, tools, tool_choice, name) => {
    const { choices } = await client.chat.completions.create({ ...question, tools, tool_choice, max_tokens: 60 });
    const [call] = choices[0]?.message.tool_calls ?? [];
    expect(choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
    expect(call).toMatchObject({ type: 'function', id: expect.stringMatching(/^call_/), function: { name } });
    if (call?.type !== 'function') throw new Error('There is no call.');
    expect(JSON.parse(call.function.arguments)).toEqual(
      name === 'clock' ? { zone: 'UTC' } : { city: expect.stringMatching(/^(Oslo|Rome)$/) },
    );
  });

  it('may be any of several, and one alone where no more may come', async () => {
    const asked = {
      ...question,
      tools: [weather, clock],
      tool_choice: 'required' as const,
      parallel_tool_calls: false,
    };
    const { choices } = await client.chat.completions.create(asked);
    expect(choices[0]?.finish_reason).toBe('tool_calls');
    expect(choices[0]?.message.tool_calls).toHaveLength(1);
  });

  it('comes in a stream with its id and name first, then its arguments in pieces', async () => {
    const asked = { ...question, tools: [weather], tool_choice: 'required' as const, parallel_tool_calls: false };
    const whole = await client.chat.completions.create(asked);
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of await client.chat.completions.create({ ...asked, stream: true })) chunks.push(chunk);
    const [role, first, ...rest] = chunks;
    expect(role?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
    expect(first?.choices[0]?.delta.tool_calls).toMatchObject([
      { index: 0, type: 'function', function: { name: 'weather', arguments: '' } },
    ]);
    expect(rest.filter((chunk) => chunk.choices[0]?.delta.tool_calls !== undefined).length).toBeGreaterThan(2);
    const [made] = joined(chunks).calls;
    const [wanted] = whole.choices[0]?.message.tool_calls ?? [];
    expect(wanted).toMatchObject({ function: { name: made?.name, arguments: made?.arguments } });
    expect(joined(chunks).finish).toBe('tool_calls');
  });

  it('ends with length where it is cut', async () => {
    const { choices } = await client.chat.completions.create({
      ...question,
      tools: [weather],
      tool_choice: 'required',
      max_tokens: 2,
    });
    expect(choices[0]?.finish_reason).toBe('length');
  });
});

describe('a call that may come', () => {
  it('follows the text in which the model begins it, kept to the schema of the tool', async () => {
    const { model, requests } = saying('Let me look.\n<tool_call>\n{"name": "nonsense');
    const { whole, chunks } = await askedOf(model, { tools: [weather], parallel_tool_calls: false });
    const [choice] = whole.choices;
    expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { content: 'Let me look.\n' } });
    expect(choice?.message.tool_calls).toMatchObject([
      { function: { name: 'weather', arguments: expect.stringContaining('city') } },
    ]);
    const [first, second] = requests;
    expect(second?.promptTokens.slice(0, first?.promptTokens.length)).toEqual(first?.promptTokens);
    expect(chunks.length).toBeGreaterThan(5);
  });

  it('streams as it comes whole', async () => {
    const { model } = saying('<tool_call>');
    const { whole, chunks } = await askedOf(model, { tools: [weather, clock], parallel_tool_calls: false });
    const { calls, content, finish } = joined(chunks);
    expect(finish).toBe('tool_calls');
    expect(content).toBe('');
    expect(calls.map(({ id: _, ...call }) => call)).toEqual(
      whole.choices[0]?.message.tool_calls?.map((call) => (call.type === 'function' ? call.function : null)),
    );
    expect(JSON.stringify(chunks)).not.toContain('tool_call>');
  });

  it('need not come', async () => {
    const { choices } = await client.chat.completions.create({ ...question, tools: [weather], max_tokens: 80 });
    expect(choices[0]?.message.tool_calls).toBeUndefined();
    expect(choices[0]?.message.content).not.toBe('');
    const none = await client.chat.completions.create({ ...question, tools: [weather], tool_choice: 'none' });
    expect(none.choices[0]?.message.content).toMatch(/^A hop is/);
  });

  it('is known from an answer that must be JSON', async () => {
    const schema = {
      type: 'object',
      properties: { ok: { type: 'boolean' } },
      required: ['ok'],
      additionalProperties: false,
    };
    const response_format = { type: 'json_schema' as const, json_schema: { name: 'a', schema } };
    const { choices } = await client.chat.completions.create({
      ...question,
      tools: [weather],
      response_format,
      max_tokens: 60,
    });
    const [choice] = choices;
    if (choice?.finish_reason === 'stop')
      expect(JSON.parse(choice.message.content ?? '')).toEqual({ ok: expect.any(Boolean) });
    else expect(choice?.message.tool_calls).toHaveLength(1);
  });
});

it('takes what a tool answered in the next turn', async () => {
  const asked = { ...question, tools: [weather], tool_choice: 'required' as const, parallel_tool_calls: false };
  const first = await client.chat.completions.create(asked);
  const message = first.choices[0]?.message;
  const [call] = message?.tool_calls ?? [];
  if (message === undefined || call === undefined) throw new Error('There is no call.');
  const result = { role: 'tool' as const, tool_call_id: call.id, content: '{"degrees": 7}' };
  const second = await client.chat.completions.create({
    ...{ model: DEMO_MODEL_ID, temperature: 0, max_tokens: 60, tools: [weather] },
    messages: [...question.messages, message, result],
  });
  expect(['stop', 'length', 'tool_calls']).toContain(second.choices[0]?.finish_reason);
  expect(second.usage?.prompt_tokens).toBeGreaterThan(first.usage?.prompt_tokens ?? 0);
});

describe('tools', () => {
  const strict = { type: 'object', properties: { city: { type: 'string', pattern: '^[A-Z]' } }, required: ['city'] };

  it.each([
    ['a name with a quote', { tools: [tool('a"b', {})] }, 'tools.0.function.name'],
    ['a tool that is no function', { tools: [{ type: 'custom', custom: { name: 'x' } }] }, 'tools.0.type'],
    ['two of one name', { tools: [weather, weather] }, 'tools'],
    [
      'a choice that is not there',
      { tools: [weather], tool_choice: { type: 'function', function: { name: 'x' } } },
      'tool_choice',
    ],
    ['a choice of another kind', { tools: [weather], tool_choice: 'any' }, 'tool_choice'],
    ['required, but none', { tool_choice: 'required' }, 'tool_choice'],
    [
      'a strict schema that cannot be kept',
      { tools: [{ ...weather, function: { name: 'w', strict: true, parameters: strict } }] },
      'tools',
    ],
    ['a grammar beside them', { tools: [weather], grammar: 'root ::= "a"' }, 'grammar'],
    ['functions', { functions: [{ name: 'f' }] }, 'functions'],
  ])('with %s are refused by name', async (_name, fields, param) => {
    const answer = await fetch(`${gateway.base}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...question, ...fields }),
    });
    expect([answer.status, at(await answer.json(), 'error.param')]).toEqual([400, param]);
  });

  it('whose schema cannot be kept whole get the rest of it, where they are not strict', async () => {
    const parameters = { ...strict, properties: { ...strict.properties, unit: { enum: ['C'] } }, required: ['unit'] };
    const { choices } = await client.chat.completions.create({
      ...{ ...question, tool_choice: 'required', parallel_tool_calls: false, max_tokens: 400 },
      tools: [tool('w', parameters)],
    });
    const [call] = choices[0]?.message.tool_calls ?? [];
    if (choices[0]?.finish_reason === 'length' || call?.type !== 'function') return;
    expect(JSON.parse(call.function.arguments)).toMatchObject({ unit: 'C' });
  });
});

describe('a model that thinks', () => {
  const template = `${'{# <think> #}'}{% for m in messages %}{{ m.content }}{% endfor %}`;

  it('is read in two parts, whole and in a stream', async () => {
    const { model } = saying('<think>\nA hop, hm.\n</think>\n\nA trip.', template);
    const { whole, chunks } = await askedOf(model, {});
    expect(whole.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'A trip.', reasoning_content: 'A hop, hm.' },
    });
    expect(whole.usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(3);
    expect(joined(chunks)).toMatchObject({ content: 'A trip.', reasoning: 'A hop, hm.', finish: 'stop' });
  });

  it('is known to think where the template has begun it, and may say nothing but that', async () => {
    const { model } = saying('A hop, hm.</think>A trip.', `${template}<think>\n`);
    const { whole } = await askedOf(model, {});
    expect(whole.choices[0]?.message).toMatchObject({ content: 'A trip.', reasoning_content: 'A hop, hm.' });
    const cut = await askedOf(saying('A hop, hm', `${template}<think>\n`).model, {});
    expect(cut.whole.choices[0]?.message).toMatchObject({ content: '', reasoning_content: 'A hop, hm' });
  });

  it('is not taken at its word in the midst of an answer', async () => {
    const { whole } = await askedOf(saying('Say <think>x</think>.', template).model, {});
    expect(whole.choices[0]?.message).toMatchObject({ content: 'Say <think>x</think>.' });
    expect(whole.choices[0]?.message).not.toHaveProperty('reasoning_content');
  });
});

describe('several choices', () => {
  it.each([
    ['sure of itself', { temperature: 1, seed: 7, n: 2 }],
    ['greedy', { temperature: 0, n: 4 }],
    ['one token long', { temperature: 0, n: 3, max_tokens: 1 }],
    ['eight', { temperature: 0.5, seed: 1, n: 8, max_tokens: 12 }],
  ])('differ, the same each time, whole and in a stream: %s', async (_name, fields) => {
    const asked = { ...question, ...fields };
    const whole = await client.chat.completions.create(asked);
    const texts = whole.choices.map(({ message }) => message.content);
    expect(texts).toHaveLength(fields.n);
    expect(new Set(texts).size, JSON.stringify(texts)).toBe(fields.n);
    const streamed: string[] = texts.map(() => '');
    for await (const { choices } of await client.chat.completions.create({ ...asked, stream: true })) {
      for (const { index, delta } of choices) streamed[index] += delta.content ?? '';
    }
    expect(streamed).toEqual(texts);
    const [first] = (await client.chat.completions.create({ ...asked, n: 1 })).choices;
    expect(texts[0]).toBe(first?.message.content);
  });

  it.each([
    ['JSON of a schema', { response_format: schemaOf({ enum: ['Oslo', 'Rome', 'Lima'] }), n: 3 }, 3],
    ['JSON with less of it than choices', { response_format: schemaOf({ enum: ['Oslo', 'Rome'] }), n: 4 }, 2],
    ['JSON of any kind', { response_format: { type: 'json_object' as const }, n: 3, max_tokens: 24 }, 3],
    ['calls that must come', { tools: [weather], tool_choice: 'required' as const, n: 2 }, 2],
    ['calls of either tool', { tools: [weather, clock], tool_choice: 'required' as const, n: 3 }, 3],
    ['a call that can be made in one way', { tools: [clock], tool_choice: 'required' as const, n: 2 }, 1],
  ])(
    'differ as far as their grammar lets them: %s',
    async (_name, fields, ways) => {
      const said = async (): Promise<string[]> => {
        const { choices } = await client.chat.completions.create({ ...question, ...fields });
        return choices.map(({ message, finish_reason }) => {
          if (finish_reason === 'stop') JSON.parse(message.content ?? '');
          const calls = (message.tool_calls ?? []).map((one) => (one.type === 'function' ? one.function : null));
          for (const call of calls) JSON.parse(call?.arguments ?? '');
          return JSON.stringify([message.content, calls]).replaceAll(/\\[nt]| /g, '');
        });
      };
      const all = await said();
      expect(all).toHaveLength(fields.n);
      expect(new Set(all).size, all.join('\n')).toBe(ways);
      expect(await said()).toEqual(all);
    },
    120_000,
  );

  it('of a call that the model begins by itself differ in the call', async () => {
    const { model } = saying('Let me see. <tool_call>');
    const { whole } = await askedOf(model, { tools: [weather], n: 2, temperature: 0 });
    const calls = whole.choices.map(({ message }) => message.tool_calls?.[0]);
    expect(new Set(calls.map((one) => (one?.type === 'function' ? one.function.arguments : ''))).size).toBe(2);
    for (const { message, finish_reason } of whole.choices) {
      expect(message.content).toBe('Let me see. ');
      expect(finish_reason).toBe('tool_calls');
    }
  });

  it('keep to what was asked of log probabilities', async () => {
    const { choices } = await client.chat.completions.create({
      ...question,
      n: 2,
      max_tokens: 4,
      logprobs: true,
      top_logprobs: 1,
    });
    for (const { logprobs, message } of choices) {
      expect(logprobs?.content?.map(({ token }) => token).join('')).toBe(message.content);
      expect(logprobs?.content?.every(({ top_logprobs }) => top_logprobs.length === 1)).toBe(true);
    }
  });
});

it('asks others to go first for service_tier flex, and says so', async () => {
  const { model, requests } = saying('Yes.');
  const { whole } = await askedOf(model, { service_tier: 'flex' });
  expect(whole.service_tier).toBe('flex');
  expect(requests.every(({ bulk }) => bulk === true)).toBe(true);
  expect((await askedOf(saying('Yes.').model, {})).whole).not.toHaveProperty('service_tier');
});
