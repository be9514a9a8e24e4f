import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PipelineError } from '../../pipeline/pipelineError.ts';
import type { ServedModel } from '../../pipeline/serving/servedModel.ts';
import { DEMO_MODEL_ID, demoGateway, listen } from '../testing/demoGateway.ts';
import { at } from '../testing/openaiCases.ts';
import { servedModels } from '../testing/wholeModel.ts';

let gateway: Awaited<ReturnType<typeof demoGateway>>;
let client: OpenAI;
beforeAll(async () => {
  gateway = await demoGateway();
  client = new OpenAI({ baseURL: `${gateway.base}/v1`, apiKey: 'none', maxRetries: 0 });
});
afterAll(() => gateway.close());

const question = { model: DEMO_MODEL_ID, input: 'What is a hop?', temperature: 0 };
const weather = {
  type: 'function' as const,
  name: 'weather',
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { enum: ['Oslo'] } },
    required: ['city'],
    additionalProperties: false,
  },
};

describe('a response', () => {
  it('comes whole, as chat says it', async () => {
    const chat = await client.chat.completions.create({
      ...{ model: DEMO_MODEL_ID, temperature: 0, messages: [{ role: 'user', content: question.input }] },
    });
    const response = await client.responses.create({ ...question, metadata: { a: 'b' } });
    expect(response.output_text).toBe(chat.choices[0]?.message.content);
    expect(response).toMatchObject({
      id: expect.stringMatching(/^resp_[0-9a-f]{24}$/),
      ...{ object: 'response', status: 'completed', error: null, incomplete_details: null, model: DEMO_MODEL_ID },
      ...{ store: false, previous_response_id: null, tools: [], tool_choice: 'auto', metadata: { a: 'b' } },
      output: [
        {
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', annotations: [] }],
        },
      ],
      usage: {
        input_tokens: chat.usage?.prompt_tokens,
        output_tokens: chat.usage?.completion_tokens,
        total_tokens: chat.usage?.total_tokens,
      },
    });
  });

  it('streams in the events of OpenAI, numbered, whose deltas are the text', async () => {
    const whole = await client.responses.create(question);
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of await client.responses.create({ ...question, stream: true })) events.push(event);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    const types = events.map(({ type }) => type);
    const runs = types.filter((type, index) => type !== types[index - 1]);
    expect(runs).toEqual([
      ...['response.created', 'response.in_progress', 'response.output_item.added', 'response.content_part.added'],
      ...['response.output_text.delta', 'response.output_text.done', 'response.content_part.done'],
      ...['response.output_item.done', 'response.completed'],
    ]);
    const deltas = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''));
    expect(deltas.join('')).toBe(whole.output_text);
    const last = events.at(-1);
    expect(last?.type === 'response.completed' && last.response.usage?.output_tokens).toBe(whole.usage?.output_tokens);
  });

  it('is driven by the helper that gathers a stream', async () => {
    const stream = client.responses.stream(question);
    const final = await stream.finalResponse();
    expect(final.output_text).toMatch(/^A hop is/);
  });

  it('says why it is incomplete', async () => {
    const response = await client.responses.create({ ...question, max_output_tokens: 2 });
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    expect(response.usage?.output_tokens).toBe(2);
  });

  it('keeps to a schema', async () => {
    const schema = {
      type: 'object',
      properties: { ok: { type: 'boolean' } },
      required: ['ok'],
      additionalProperties: false,
    };
    const response = await client.responses.create({
      ...{
        ...question,
        text: { format: { type: 'json_schema', name: 'a', schema, strict: true } },
        max_output_tokens: 60,
      },
    });
    expect(JSON.parse(response.output_text)).toEqual({ ok: expect.any(Boolean) });
  });

  it('has log probabilities where they are asked for', async () => {
    const response = await client.responses.create({
      ...{ ...question, include: ['message.output_text.logprobs'], top_logprobs: 2, max_output_tokens: 3 },
    });
    const [item] = response.output;
    const part = item?.type === 'message' ? item.content[0] : undefined;
    expect(part?.type === 'output_text' ? part.logprobs : null).toHaveLength(3);
  });

  it('takes instructions, turns and parts', async () => {
    const asked = {
      ...{ model: DEMO_MODEL_ID, temperature: 0, instructions: 'Be brief.', max_output_tokens: 5 },
      input: [
        { role: 'user' as const, content: [{ type: 'input_text' as const, text: 'Hello' }] },
        { role: 'assistant' as const, content: 'Hello.' },
        { role: 'user' as const, content: 'What is a hop?' },
      ],
    };
    const response = await client.responses.create(asked);
    const chat = await client.chat.completions.create({
      ...{ model: DEMO_MODEL_ID, temperature: 0, max_tokens: 5 },
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hello.' },
        { role: 'user', content: 'What is a hop?' },
      ],
    });
    expect(response.usage?.input_tokens).toBe(chat.usage?.prompt_tokens);
    expect(response.output_text).toBe(chat.choices[0]?.message.content);
    expect(response.instructions).toBe('Be brief.');
  });
});

describe('a call', () => {
  const asked = { ...question, tools: [weather], tool_choice: 'required' as const, parallel_tool_calls: false };

  it('goes two turns', async () => {
    const first = await client.responses.create(asked);
    const [call] = first.output;
    if (call?.type !== 'function_call') throw new Error('There is no call.');
    expect(call).toMatchObject({ name: 'weather', status: 'completed', call_id: expect.stringMatching(/^call_/) });
    expect(JSON.parse(call.arguments)).toEqual({ city: 'Oslo' });
    const second = await client.responses.create({
      ...{ model: DEMO_MODEL_ID, temperature: 0, max_output_tokens: 20, tools: [weather] },
      input: [
        { role: 'user', content: question.input },
        call,
        { type: 'function_call_output', call_id: call.call_id, output: '7 degrees' },
      ],
    });
    expect(second.usage?.input_tokens).toBeGreaterThan(first.usage?.input_tokens ?? 0);
    expect(second.output.length).toBeGreaterThan(0);
  });

  it('streams its arguments', async () => {
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of await client.responses.create({ ...asked, stream: true })) events.push(event);
    const deltas = events.map((event) => (event.type === 'response.function_call_arguments.delta' ? event.delta : ''));
    const done = events.find((event) => event.type === 'response.function_call_arguments.done');
    expect(deltas.join('')).toBe(done?.type === 'response.function_call_arguments.done' ? done.arguments : null);
    expect(JSON.parse(deltas.join(''))).toEqual({ city: 'Oslo' });
    const added = events.find((event) => event.type === 'response.output_item.added');
    expect(added).toMatchObject({ item: { type: 'function_call', name: 'weather', arguments: '' } });
  });
});

describe('the Responses API', () => {
  it.each([
    ['no input', { input: undefined }, 'input'],
    ['an input that is a number', { input: 1 }, 'input'],
    ['a role of its own', { input: [{ role: 'robot', content: 'x' }] }, 'input.0.role'],
    [
      'an image',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'http://a/b' }] }] },
      'input.0.content.0.type',
    ],
    [
      'a file',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'http://a/b' }] }] },
      'input.0.content.0.type',
    ],
    ['a reference', { input: [{ type: 'item_reference', id: 'x' }] }, 'input.0.type'],
    ['an output without its call', { input: [{ type: 'function_call_output', output: 'x' }] }, 'input.0.call_id'],
    ['what was said before', { previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['a conversation', { conversation: 'conv_1' }, 'conversation'],
    ['store', { store: true }, 'store'],
    ['background', { background: true }, 'background'],
    ['a stored prompt', { prompt: { id: 'x' } }, 'prompt'],
    ['truncation', { truncation: 'auto' }, 'truncation'],
    ['a summary of thoughts', { reasoning: { summary: 'auto' } }, 'reasoning.summary'],
    ['an effort that the model does not know', { reasoning: { effort: 'high' } }, 'reasoning.effort'],
    ['encrypted thoughts', { include: ['reasoning.encrypted_content'] }, 'include.0'],
    ['a tool of the web', { tools: [{ type: 'web_search' }] }, 'tools.0.type'],
    ['a format of its own', { text: { format: { type: 'xml' } } }, 'text.format.type'],
    ['a verbosity', { text: { verbosity: 'high' } }, 'text.verbosity'],
    ['top_logprobs alone', { top_logprobs: 2 }, 'top_logprobs'],
    ['a tier that there is not', { service_tier: 'priority' }, 'service_tier'],
    ['max_tool_calls', { max_tool_calls: 1 }, 'max_tool_calls'],
  ])('refuses %s by name', async (_name, fields, param) => {
    const answer = await fetch(`${gateway.base}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...question, ...fields }),
    });
    expect([answer.status, at(await answer.json(), 'error.param')]).toEqual([400, param]);
  });

  it('takes what changes nothing', async () => {
    const harmless = {
      ...{ store: false, background: false, truncation: 'disabled' as const, previous_response_id: null, user: 'ann' },
      ...{ include: [], tools: [], max_output_tokens: 4, service_tier: 'flex' as const, safety_identifier: 'a' },
    };
    expect(await client.responses.create({ ...question, ...harmless })).toMatchObject({ service_tier: 'flex' });
  });

  it('says in a stream that it has failed', async () => {
    const model: ServedModel = {
      ...gateway.model,
      generate: async function* (request, signal) {
        let count = 0;
        for await (const token of gateway.model.generate(request, signal)) {
          count += 1;
          if (count > 3) throw new PipelineError('StageLost', 'The stage is lost.');
          yield token;
        }
      },
    };
    const other = await listen({ models: servedModels(model) });
    const own = new OpenAI({ baseURL: `${other.base}/v1`, apiKey: 'none', maxRetries: 0 });
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of await own.responses.create({ ...question, stream: true })) events.push(event);
    expect(events.at(-1)).toMatchObject({
      ...{ type: 'response.failed', sequence_number: events.length - 1 },
      response: { status: 'failed', error: { code: 'stage_lost', message: 'The stage is lost.' } },
    });
    await other.app.close();
  });
});
