import { Ollama } from 'ollama';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { DEMO_MODEL_ID, demoGateway, listen } from '../testing/demoGateway.ts';
import { rawHttp } from '../testing/rawHttp.ts';
import { sayingModel } from '../testing/sayingModel.ts';
import { servedModels } from '../testing/wholeModel.ts';

let gateway: Awaited<ReturnType<typeof demoGateway>>;
let client: Ollama;
beforeAll(async () => {
  gateway = await demoGateway();
  client = new Ollama({ host: gateway.base });
});
afterAll(() => gateway.close());

const messages = [{ role: 'user', content: 'Count to ten.' }];
const asked = { model: DEMO_MODEL_ID, messages, options: { temperature: 0 } };

describe('the ollama package', () => {
  it('lists what is served, never a path, and the version', async () => {
    const { models } = await client.list();
    expect(models.map(({ name }) => name)).toEqual([DEMO_MODEL_ID]);
    expect(JSON.stringify(models)).not.toContain('/');
    expect(models[0]?.size).toBe(gateway.model.bytes);
    expect(gateway.model.bytes).toBeGreaterThan(1_000_000);
    expect(await client.version()).toEqual({ version: '0.0.0' });
  });

  it('shows what a model is, with its context, by either name', async () => {
    const shown = await client.show({ model: `${DEMO_MODEL_ID}:latest` });
    const { architecture, chatTemplate, contentId } = gateway.model;
    expect(shown).toMatchObject({
      details: {
        ...{ format: 'gguf', family: architecture, families: [architecture] },
        ...{
          parameter_size: expect.stringMatching(/^[1-9]\d*\.\d\dM$/),
          quantization_level: gateway.model.quantisation,
        },
      },
      template: chatTemplate,
    });
    expect(gateway.model.quantisation).toMatch(/^\w+$/);
    const info = {
      'general.architecture': architecture,
      'general.parameter_count': gateway.model.parameters,
      [`${architecture}.context_length`]: 2048,
    };
    expect(shown.model_info).toEqual(info);
    expect(shown.capabilities).toContain('completion');
    expect((await client.list()).models[0]).toMatchObject({ digest: contentId, details: shown.details });
    const [running] = (await client.ps()).models;
    expect(running).toMatchObject({
      name: DEMO_MODEL_ID,
      digest: contentId,
      details: shown.details,
      context_length: 2048,
    });
    expect(new Date(String(running?.expires_at)).getTime()).toBeGreaterThan(Date.now());
    await expect(client.show({ model: 'none' })).rejects.toThrow(/does not exist/);
  });

  it('chats, streamed as whole, also by the name with a tag', async () => {
    const whole = await client.chat(asked);
    expect(whole).toMatchObject({ model: DEMO_MODEL_ID, done: true, done_reason: 'stop' });
    expect(whole.message.content).toMatch(/^One, two, three/);
    expect(whole.prompt_eval_count).toBeGreaterThan(0);
    const parts = [];
    const stream = await client.chat({ ...asked, model: `${DEMO_MODEL_ID}:latest`, stream: true });
    for await (const part of stream) parts.push(part);
    expect(parts.length).toBeGreaterThan(5);
    expect(parts.map(({ message }) => message.content).join('')).toBe(whole.message.content);
    expect(parts.at(-1)).toMatchObject({ done: true, eval_count: whole.eval_count });
  });

  it('generates from a prompt as from a chat, raw without a template, and keeps its options', async () => {
    const prompt = 'Count to ten.';
    const chat = await client.chat(asked);
    const same = await client.generate({ model: DEMO_MODEL_ID, prompt, options: { temperature: 0 } });
    expect(same.response).toBe(chat.message.content);
    const raw = `<|im_start|>user\n${prompt}<|im_end|>\n<|im_start|>assistant\n`;
    const options = { temperature: 0, num_predict: 3, num_ctx: 1024 };
    const short = await client.generate({ model: DEMO_MODEL_ID, prompt: raw, raw: true, options });
    expect(chat.message.content.startsWith(short.response ?? '-')).toBe(true);
    expect(short).toMatchObject({ done_reason: 'length', eval_count: 3 });
    const stopped = await client.generate({ model: DEMO_MODEL_ID, prompt, options: { temperature: 0, stop: ['ree'] } });
    expect(stopped.response).toBe('One, two, th');
    const load = await client.generate({ model: DEMO_MODEL_ID, prompt: '' });
    expect(load).toMatchObject({ done: true, done_reason: 'load', response: '' });
  });

  it('frees the slot when it aborts', async () => {
    const stream = await client.chat({ ...asked, stream: true });
    for await (const part of stream) if (part.message.content !== '') break;
    stream.abort();
    await vi.waitUntil(() => gateway.model.running() === 0, { timeout: 30_000 });
  });

  it('is told what is wrong', async () => {
    await expect(client.chat({ ...asked, model: 'none' })).rejects.toThrow(/The model "none" does not exist/);
    await expect(client.chat({ ...asked, options: { mirostat: 1 } })).rejects.toThrow(/options\.mirostat/);
    await expect(client.chat({ ...asked, options: { num_ctx: 99_999 } })).rejects.toThrow(/options\.num_ctx.*2048/);
    const format = { type: 'object', properties: { a: { type: 'string', pattern: 'x' } } };
    await expect(client.chat({ ...asked, format })).rejects.toThrow(/^format\.properties\.a\.pattern /);
    await expect(client.embed({ model: DEMO_MODEL_ID, input: 'x' })).rejects.toThrow(/not here.*\/v1\/embeddings/);
    await expect(client.delete({ model: DEMO_MODEL_ID })).rejects.toThrow(/not here.*roomful/);
    await expect(client.pull({ model: 'x' })).rejects.toThrow(/not here.*roomful/);
    await expect(client.chat({ ...asked, think: true })).rejects.toThrow(/^think: /);
  });
});

describe('tools', () => {
  const properties = { city: { type: 'string', enum: ['Oslo'] } };
  const tools = [
    {
      type: 'function',
      function: { name: 'weather', description: '', parameters: { type: 'object', properties, required: ['city'] } },
    },
  ];

  it('are called, and their results taken, whole and in a stream', async () => {
    const other = await listen({ models: servedModels(sayingModel(gateway.model, 'Well. <tool_call>').model) });
    const own = new Ollama({ host: other.base });
    const messages = [{ role: 'user', content: 'What is a hop?' }];
    const called = { model: DEMO_MODEL_ID, messages, tools, options: { temperature: 0, num_predict: 400 } };
    const lines = [];
    for await (const part of await own.chat({ ...called, stream: true })) lines.push(part);
    const calls = lines.flatMap(({ message }) => message.tool_calls ?? []);
    expect(calls[0]).toEqual({ function: { name: 'weather', arguments: { city: 'Oslo' } } });
    expect(lines.map(({ message }) => message.content).join('')).toBe('Well. ');
    const whole = await own.chat(called);
    expect(whole.message.tool_calls).toEqual(calls);
    const short = { model: DEMO_MODEL_ID, options: { temperature: 0, num_predict: 4 } };
    const plain = await client.chat({ ...short, messages });
    const result = { role: 'tool', content: '7 degrees', tool_name: 'weather' };
    const next = await client.chat({ ...short, messages: [...messages, whole.message, result] });
    expect(next.prompt_eval_count).toBeGreaterThan(plain.prompt_eval_count + 20);
    await other.app.close();
  }, 60_000);
});

it('keeps the rest of /api behind the token, and all of it from foreign pages', async () => {
  const get = { method: 'GET', path: '/api/tags' };
  expect((await rawHttp(gateway.port, { method: 'POST', path: '/api/rpc' })).status).toBe(401);
  expect((await rawHttp(gateway.port, { method: 'POST', path: '/api/serve' })).status).toBe(401);
  expect((await rawHttp(gateway.port, { ...get, headers: { origin: 'http://evil.example' } })).status).toBe(403);
  expect((await rawHttp(gateway.port, { ...get, headers: { host: 'evil.example' } })).status).toBe(403);
});
