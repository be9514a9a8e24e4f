import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PipelineError } from '../../pipeline/pipelineError.ts';
import type { GeneratedToken, GenerateRequest, ServedModel } from '../../pipeline/serving/servedModel.ts';
import { HostCrashed } from '../../stage/hostError.ts';
import { DEMO_MODEL_ID, demoGateway, listen, type RunningGateway } from '../testing/demoGateway.ts';
import { rawHttp, readEvents } from '../testing/rawHttp.ts';
import { servedModels } from '../testing/wholeModel.ts';

let gateway: Awaited<ReturnType<typeof demoGateway>>;
let client: OpenAI;
beforeAll(async () => {
  gateway = await demoGateway();
  client = new OpenAI({ baseURL: `${gateway.base}/v1`, apiKey: 'none', maxRetries: 0 });
});
afterAll(() => gateway.close());

const patience = { timeout: 30_000 };
const question = { model: DEMO_MODEL_ID, messages: [{ role: 'user' as const, content: 'What is a hop?' }] };

/** The demo model, with its generation led through `change`. */
function changed(
  change: (tokens: AsyncIterable<GeneratedToken>, signal: AbortSignal) => AsyncIterable<GeneratedToken>,
): ServedModel {
  const { model } = gateway;
  return { ...model, generate: (request, signal) => change(model.generate(request, signal), signal) };
}

describe('an answer', () => {
  it('comes whole, in the shape of OpenAI', async () => {
    const answer = await client.chat.completions.create({ ...question, temperature: 0 });
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f]{24}$/),
      object: 'chat.completion',
      created: expect.closeTo(Date.now() / 1000, -2),
      model: DEMO_MODEL_ID,
      system_fingerprint: 'roomful-0.0.0',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          message: { role: 'assistant', content: expect.stringMatching(/^A hop is/) },
        },
      ],
    });
    const { usage } = answer;
    const prompt = '<|im_start|>user\nWhat is a hop?<|im_end|>\n<|im_start|>assistant\n';
    const promptTokens = await gateway.model.tokenize(prompt, { addSpecial: true, parseSpecial: true });
    expect(usage?.prompt_tokens).toBe(promptTokens.length);
    expect(usage?.total_tokens).toBe(promptTokens.length + (usage?.completion_tokens ?? 0));
  });

  it('streams the same text: role, content, finish reason, usage, in this order', async () => {
    const whole = await client.chat.completions.create({ ...question, temperature: 0 });
    const chunks = [];
    const stream = await client.chat.completions.create({
      ...question,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
    });
    for await (const chunk of stream) chunks.push(chunk);
    const [first, ...rest] = chunks;
    const [end, usage] = rest.splice(-2);
    expect(first?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
    expect(rest.length).toBeGreaterThan(5);
    expect(rest.map((chunk) => chunk.choices[0]?.delta.content).join('')).toBe(whole.choices[0]?.message.content);
    expect(rest.every((chunk) => chunk.choices[0]?.finish_reason === null && chunk.usage === null)).toBe(true);
    expect(end?.choices[0]).toMatchObject({ delta: {}, finish_reason: 'stop' });
    const { prompt_tokens_details: _, ...tokens } = whole.usage ?? {};
    expect(usage).toMatchObject({ choices: [], usage: tokens });
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
  });

  it('ends with length where max_tokens or the context ends', async () => {
    const short = await client.chat.completions.create({ ...question, temperature: 0, max_tokens: 2 });
    expect(short).toMatchObject({ choices: [{ finish_reason: 'length' }], usage: { completion_tokens: 2 } });
    const context = 30;
    const small = await listen({ models: servedModels({ ...gateway.model, contextLength: context }) });
    const answer = await chat(small, { ...question, temperature: 0, max_tokens: 1000 });
    expect(answer.body).toMatchObject({ choices: [{ finish_reason: 'length' }], usage: { total_tokens: context } });
    const none = await listen({ models: servedModels({ ...gateway.model, contextLength: 10 }) });
    const refused = await chat(none, question);
    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'context_length_exceeded' } } });
    expect(refused.body.error.message).toMatch(/prompt is 1\d tokens.*holds 10 tokens/);
    await Promise.all([small.app.close(), none.app.close()]);
  });

  it('draws a seed when none is given, and logs it under the request', async () => {
    const asked = { ...question, max_tokens: 20, temperature: 1.5 };
    const first = await client.chat.completions.create(asked);
    const logged = gateway.lines.find((line) => `chatcmpl-${String(line.request)}` === first.id);
    expect(Number.isSafeInteger(logged?.seed)).toBe(true);
    const again = await client.chat.completions.create({ ...asked, seed: Number(logged?.seed) });
    expect(again.choices[0]?.message.content).toBe(first.choices[0]?.message.content);
    expect(JSON.stringify(gateway.lines)).not.toContain('hop');
  });

  it('never shows a part of a stop string, streamed or not', async () => {
    const asked = {
      model: DEMO_MODEL_ID,
      temperature: 0,
      messages: [{ role: 'user' as const, content: 'Count to ten.' }],
      stop: ['never this', 'ree, fo', 'five'],
    };
    const deltas: string[] = [];
    for await (const chunk of await client.chat.completions.create({ ...asked, stream: true })) {
      deltas.push(chunk.choices[0]?.delta.content ?? '');
    }
    expect(deltas.join('')).toBe('One, two, th');
    const released = await client.chat.completions.create({ ...asked, max_tokens: 6, stop: ['three, fxx'] });
    expect(released.choices[0]?.finish_reason).toBe('length');
    expect(released.choices[0]?.message.content).toMatch(/^One, two, three/);
  });

  it('passes every field on that changes a generation', async () => {
    const seen: GenerateRequest[] = [];
    const model: ServedModel = {
      ...gateway.model,
      generate: (request, signal) => {
        seen.push(request);
        return gateway.model.generate(request, signal);
      },
    };
    const other = await listen({ models: servedModels(model) });
    await chat(other, { ...question, temperature: 0.3, top_p: 0.6, seed: 5, max_completion_tokens: 2 });
    await chat(other, { ...question, max_tokens: 2, seed: -1 });
    const more = { top_k: 7, min_p: 0.1, frequency_penalty: 0.5, presence_penalty: -1, repeat_penalty: 1.25 };
    await chat(other, { ...question, max_tokens: 1, ...more, logit_bias: { 5: -3 }, logprobs: true, top_logprobs: 4 });
    expect(seen[2]?.sampling).toMatchObject({
      ...{ topK: 7, minP: 0.1, frequencyPenalty: 0.5, presencePenalty: -1, repetitionPenalty: 1.25 },
      ...{ logitBias: [[5, -3]], topLogprobs: 4, grammar: null },
    });
    expect(seen[0]).toMatchObject({ maxTokens: 2, sampling: { temperature: 0.3, topP: 0.6, seed: 5, choice: 0 } });
    expect(seen[1]).toMatchObject({ sampling: { temperature: 1, topP: 1, seed: Number.MAX_SAFE_INTEGER } });
    await other.app.close();
  });

  it('has log probabilities as OpenAI words them, token by token, streamed or not', async () => {
    const asked = { ...question, temperature: 0, logprobs: true, top_logprobs: 2 };
    const whole = await client.chat.completions.create(asked);
    const [choice] = whole.choices;
    const content = choice?.logprobs?.content ?? [];
    // The end token is no content.
    expect(content).toHaveLength((whole.usage?.completion_tokens ?? 0) - 1);
    expect(Buffer.from(content.flatMap(({ bytes }) => bytes ?? [])).toString('utf8')).toBe(choice?.message.content);
    for (const { token, logprob, top_logprobs: top } of content) {
      expect(logprob).toBeLessThanOrEqual(0);
      expect(top).toHaveLength(2);
      expect(top[0]).toMatchObject({ token, logprob });
    }
    const streamed = [];
    for await (const chunk of await client.chat.completions.create({ ...asked, stream: true })) {
      const [part] = chunk.choices;
      const tokens = part?.logprobs?.content ?? [];
      expect(Buffer.from(tokens.flatMap(({ bytes }) => bytes ?? [])).toString('utf8')).toBe(part?.delta.content ?? '');
      streamed.push(...tokens);
    }
    expect(streamed).toEqual(content);
    expect(
      (await client.chat.completions.create({ ...asked, logprobs: false, top_logprobs: null })).choices[0]?.logprobs,
    ).toBeNull();
  });

  it('shows no log probabilities of what a stop string cut off', async () => {
    const messages = [{ role: 'user' as const, content: 'Count to ten.' }];
    const asked = { model: DEMO_MODEL_ID, messages, temperature: 0, logprobs: true, stop: ['ree, fo'] };
    const [choice] = (await client.chat.completions.create(asked)).choices;
    const text = Buffer.from((choice?.logprobs?.content ?? []).flatMap(({ bytes }) => bytes ?? [])).toString('utf8');
    // A token may begin in the text and end in the stop string.
    expect(choice?.message.content).toBe('One, two, th');
    expect(text.startsWith('One, two, th')).toBe(true);
    expect(text).not.toContain('fo');
  });

  it('follows a grammar, and refuses one that cannot be read with its reason', async () => {
    const answer = await chat(gateway, { ...question, grammar: 'root ::= "yes" | "no"', logprobs: true });
    expect(answer.body.choices[0].message.content).toMatch(/^(yes|no)$/);
    const bad = await chat(gateway, { ...question, grammar: 'root ::= nobody' });
    expect(bad).toMatchObject({ status: 400, body: { error: { param: 'grammar', code: 'invalid_grammar' } } });
    const stream = await chat(gateway, { ...question, grammar: 'root ::= nobody', stream: true });
    expect(stream.status).toBe(400);
    const bias = await chat(gateway, { ...question, logit_bias: { 1536: 1 } });
    expect(bias).toMatchObject({ status: 400, body: { error: { param: 'logit_bias' } } });
    expect(bias.body.error.message).toMatch(/1536/);
  });

  it('of four requests at once is that of each alone', async () => {
    const questions = ['What is a hop?', 'Count to ten.', 'Hello', 'List three tips.'];
    const ask = (content: string) =>
      client.chat.completions.create({ ...question, messages: [{ role: 'user', content }], temperature: 0 });
    const texts = (answers: OpenAI.ChatCompletion[]) => answers.map((answer) => answer.choices[0]?.message.content);
    const together = texts(await Promise.all(questions.map(ask)));
    const alone = [];
    for (const content of questions) alone.push(await ask(content));
    expect(together).toEqual(texts(alone));
  });
});

describe('a model without a usable chat template', () => {
  it.each([
    [null, 'chat_template_missing'],
    ['{% for message in %}', 'chat_template_broken'],
    ["{{ raise_exception('Roles must alternate') }}", 'chat_template_refused'],
  ])('%s is said plainly', async (chatTemplate, code) => {
    const unknown = { architecture: '', controlTokens: new Map<number, string>() };
    const other = await listen({ models: servedModels({ ...gateway.model, ...unknown, chatTemplate }) });
    const refused = await chat(other, question);
    expect(refused).toMatchObject({ status: 400, body: { error: { code, param: 'messages' } } });
    expect(refused.body.error.message).toContain(code === 'chat_template_refused' ? 'Roles must' : '"generic"');
    const generic = await chat(other, { ...question, temperature: 0, chat_template: 'generic' });
    expect(generic.body.choices[0].message.content).toMatch(/^A hop is/);
    await other.app.close();
  });
});

describe('a generation that fails', () => {
  it.each([
    ['QueueFull', 429],
    ['StageLost', 503],
    ['DecodeFailed', 500],
  ] as const)('at once with %s is answered with status %i, streamed or not', async (kind, status) => {
    const model = changed(async function* () {
      yield* [];
      throw new PipelineError(kind, 'It could not go on; try again.');
    });
    const other = await listen({ models: servedModels(model) });
    for (const stream of [false, true]) {
      const answer = await chat(other, { ...question, stream });
      expect(answer.status).toBe(status);
      expect(answer.body.error.message).toBe('It could not go on; try again.');
      expect(answer.headers['retry-after']).toBe(status === 429 ? '1' : undefined);
    }
    await other.app.close();
  });

  it('before it began, for the tokenizer is gone, is answered with 503', async () => {
    const crash = new HostCrashed('engine', { signal: 'SIGSEGV', exitCode: null, line: null });
    const other = await listen({ models: servedModels({ ...gateway.model, tokenize: () => Promise.reject(crash) }) });
    const answer = await chat(other, { ...question, stream: true });
    expect(answer).toMatchObject({ status: 503, body: { error: { code: 'engine_lost', message: crash.message } } });
    await other.app.close();
  });

  it('in mid-stream is the last event, after the text that was committed', async () => {
    const model = changed(async function* (tokens) {
      let count = 0;
      for await (const token of tokens) {
        yield token;
        count += 1;
        if (count === 3) throw new PipelineError('StageLost', 'The stage is lost.');
      }
    });
    const other = await listen({ models: servedModels(model) });
    const body = JSON.stringify({ ...question, temperature: 0, stream: true });
    const { text } = await rawHttp(other.port, { ...post, body });
    const { events, done } = readEvents(text);
    expect(done).toBe(false);
    expect(events.at(-1)).toEqual({
      error: { message: 'The stage is lost.', type: 'server_error', param: null, code: 'stage_lost' },
    });
    expect(events).toHaveLength(5);
    expect(other.lines.filter((line) => line.level === 50)).toHaveLength(1);
    const sdk = new OpenAI({ baseURL: `${other.base}/v1`, apiKey: 'none', maxRetries: 0 });
    const stream = await sdk.chat.completions.create({ ...question, stream: true });
    const readAll = async () => {
      for await (const chunk of stream) expect(chunk.object).toBe('chat.completion.chunk');
    };
    await expect(readAll()).rejects.toBeInstanceOf(OpenAI.APIError);
    await other.app.close();
  });

  it('with an unknown error tells the client nothing of it, and the log all', async () => {
    const model = changed(async function* () {
      yield* [];
      throw new Error('secret inner words');
    });
    const other = await listen({ models: servedModels(model) });
    const answer = await chat(other, question);
    expect(answer.status).toBe(500);
    expect(JSON.stringify(answer.body)).not.toContain('secret');
    expect(JSON.stringify(other.lines)).toContain('secret inner words');
    await other.app.close();
  });
});

describe('a client', () => {
  it('that waits gets the headers, the role and comment lines while nothing comes', async () => {
    let release: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const model = changed(async function* (tokens) {
      await gate;
      yield* tokens;
    });
    const other = await listen({ models: servedModels(model), keepAliveMs: 5 });
    const socket = sendRaw(other.port, { ...question, temperature: 0, stream: true });
    let text = '';
    for await (const chunk of socket) {
      text += String(chunk);
      if (text.split(': keep-alive').length > 3) release();
      if (text.includes('[DONE]')) break;
    }
    expect(text).toMatch(/^HTTP\/1.1 200 [\s\S]*"role":"assistant"[\s\S]*: keep-alive[\s\S]*A[\s\S]*\[DONE\]/);
    expect(text.indexOf(': keep-alive')).toBeLessThan(text.indexOf('"content":"A'));
    await other.app.close();
  });

  it.each([true, false])('that leaves ends the generation (stream: %s)', async (stream) => {
    const seen: AbortSignal[] = [];
    const model: ServedModel = {
      ...gateway.model,
      // Nothing ends it but leaving.
      contextLength: 10_000_000,
      endTokens: new Set(),
      generate: (request, signal) => {
        seen.push(signal);
        return endless(request, signal);
      },
    };
    const other = await listen({ models: servedModels(model) });
    const socket = sendRaw(other.port, { ...question, stream });
    await vi.waitUntil(() => seen.length === 1, patience);
    if (stream) await once(socket, 'data');
    socket.destroy();
    await vi.waitUntil(() => seen[0]?.aborted, patience);
    await vi.waitUntil(() => running === 0, patience);
    expect(other.lines.filter((line) => Number(line.level) >= 50)).toEqual([]);
    await other.app.close();
  });

  it('of the openai package that aborts frees the slot of the real model', async () => {
    const stream = await client.chat.completions.create({ ...question, temperature: 0, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    stream.controller.abort();
    await vi.waitUntil(() => gateway.model.running() === 0, patience);
  });

  it('that does not read stops the generation from running ahead', async () => {
    let pulled = 0;
    const model: ServedModel = {
      ...gateway.model,
      contextLength: 10_000_000,
      endTokens: new Set(),
      generate: async function* (request, signal) {
        for await (const token of endless(request, signal)) {
          pulled += 1;
          yield token;
        }
      },
    };
    const other = await listen({ models: servedModels(model) });
    const socket = sendRaw(other.port, { ...question, stream: true });
    await once(socket, 'data');
    socket.pause();
    let before = -1;
    while (pulled !== before) {
      before = pulled;
      await delay(200);
    }
    // What the sockets' own buffers hold; unchecked it would run to ten million.
    expect(pulled).toBeLessThan(200_000);
    socket.resume();
    await vi.waitUntil(() => pulled > before, patience);
    socket.destroy();
    await vi.waitUntil(() => running === 0, patience);
    await other.app.close();
  });

  it('loses its stream when the gateway closes, and the generation ends', async () => {
    const endTokens = new Set<number>();
    const model: ServedModel = { ...gateway.model, contextLength: 10_000_000, endTokens, generate: endless };
    const other = await listen({ models: servedModels(model) });
    const socket = sendRaw(other.port, { ...question, stream: true });
    await once(socket, 'data');
    socket.resume();
    await Promise.all([other.app.close(), once(socket, 'close')]);
    await vi.waitUntil(() => running === 0, patience);
  });
});

let running = 0;

/** The same letter for as long as it is asked. */
async function* endless({ maxTokens }: GenerateRequest, signal: AbortSignal): AsyncGenerator<GeneratedToken> {
  const [token] = await gateway.model.tokenize('a', { addSpecial: false, parseSpecial: false });
  running += 1;
  try {
    for (let count = 0; count < maxTokens && token !== undefined; count += 1) {
      await new Promise(setImmediate);
      signal.throwIfAborted();
      yield { id: token, logprob: null, top: [] };
    }
  } finally {
    running -= 1;
  }
}

const post = { method: 'POST', path: '/v1/chat/completions', headers: { 'content-type': 'application/json' } };

async function chat(to: RunningGateway, body: object) {
  const answer = await rawHttp(to.port, { ...post, body: JSON.stringify(body) });
  return { status: answer.status, headers: answer.headers, body: JSON.parse(answer.text) };
}

function sendRaw(port: number, body: object): Socket {
  const text = JSON.stringify(body);
  const socket = connect(port, '127.0.0.1');
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
  socket.write(`${head}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  return socket;
}
