import { once } from 'node:events';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGateway } from './createGateway.ts';
import { DEMO_MODEL_ID, demoGateway, keptLog, LOCAL_TOKEN, listen } from './testing/demoGateway.ts';
import { rawHttp } from './testing/rawHttp.ts';
import { servedModels } from './testing/wholeModel.ts';

let gateway: Awaited<ReturnType<typeof demoGateway>>;
beforeAll(async () => {
  gateway = await demoGateway({
    rules: { allowedHosts: ['den.example'], allowedOrigins: ['app://roomful'] },
    bodyLimit: 10_000,
  });
});
afterAll(() => gateway.close());

const json = { 'content-type': 'application/json' };
const errorOf = (text: string): { message: string; type: string; param: string | null; code: string | null } =>
  JSON.parse(text).error;

describe('models', () => {
  it('lists what is served with its context length, and finds one by id', async () => {
    const client = new OpenAI({ baseURL: `${gateway.base}/v1`, apiKey: 'none' });
    const { data } = await client.models.list();
    expect(data).toEqual([
      {
        id: DEMO_MODEL_ID,
        object: 'model',
        created: gateway.model.createdAt,
        owned_by: 'roomful',
        meta: { n_ctx: 2048 },
        max_model_len: 2048,
        capabilities: ['completion'],
      },
    ]);
    expect(await client.models.retrieve(DEMO_MODEL_ID)).toEqual(data[0]);
  });

  it('names the models there are when it is asked for another', async () => {
    const client = new OpenAI({ baseURL: `${gateway.base}/v1`, apiKey: 'none' });
    const answer = client.models.retrieve('other/model');
    await expect(answer).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    await expect(answer).rejects.toMatchObject({ code: 'model_not_found', message: expect.stringContaining('demo') });
  });

  it('says so when nothing is served', async () => {
    const empty = await listen({ models: servedModels() });
    const answer = await rawHttp(empty.port, { method: 'GET', path: '/v1/models/x' });
    expect(errorOf(answer.text).message).toContain('No model is served here.');
    expect(JSON.parse((await rawHttp(empty.port, { method: 'GET', path: '/v1/models' })).text).data).toEqual([]);
    expect((await rawHttp(empty.port, { method: 'GET', path: '/health' })).text).toBe('{"status":"ok"}');
    await empty.app.close();
  });
});

describe('who may call', () => {
  const health = (headers: Record<string, string>) =>
    rawHttp(gateway.port, { method: 'GET', path: '/health', headers });

  it.each(['127.0.0.1', 'LOCALHOST:1', '[::1]:8080', '127.1.2.3', 'den.example:443'])('Host %s', async (host) => {
    expect((await health({ host })).status).toBe(200);
  });

  it.each(['attacker.example', '127.0.0.1.attacker.example', 'user@127.0.0.1', '10.0.0.7', 'localhost/'])(
    'not Host %j',
    async (host) => {
      const answer = await health({ host });
      expect(answer.status).toBe(403);
      expect(errorOf(answer.text).code).toBe('host_not_allowed');
    },
  );

  it('not a request without Host', async () => {
    expect(await rawBytes(gateway.port, 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1.1 403 /,
    );
  });

  it('its own pages and the chosen origins, with CORS headers', async () => {
    for (const origin of [gateway.base, `http://localhost:${gateway.port}`, 'app://roomful']) {
      const answer = await health({ origin });
      expect(answer.status).toBe(200);
      expect(answer.headers['access-control-allow-origin']).toBe(origin);
      expect(answer.headers.vary).toContain('origin');
    }
  });

  it.each(['https://attacker.example', 'http://localhost:1', 'null', 'file://', 'https://127.0.0.1'])(
    'not origin %s, and without CORS headers',
    async (origin) => {
      for (const method of ['GET', 'OPTIONS']) {
        const answer = await rawHttp(gateway.port, { method, path: '/health', headers: { origin } });
        expect(answer.status).toBe(403);
        expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
      }
    },
  );

  it('a preflight gets the headers that it asked for', async () => {
    const headers = {
      origin: 'app://roomful',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,x-stainless-os',
      'access-control-request-private-network': 'true',
    };
    const answer = await rawHttp(gateway.port, { method: 'OPTIONS', path: '/v1/chat/completions', headers });
    expect(answer.status).toBe(204);
    expect(answer.headers['access-control-allow-headers']).toBe('content-type,x-stainless-os');
    expect(answer.headers['access-control-allow-methods']).toContain('POST');
    expect(answer.headers['access-control-allow-private-network']).toBe('true');
  });

  it.each([undefined, 'Bearer wrong', `Basic ${LOCAL_TOKEN}`, LOCAL_TOKEN, 'Bearer '])(
    '/api not with Authorization %s',
    async (authorization) => {
      for (const path of ['/api/rpc', '/api/nothing', '//api/rpc', '/%61pi/rpc']) {
        const headers = { ...json, ...(authorization === undefined ? {} : { authorization }) };
        const answer = await rawHttp(gateway.port, { method: 'POST', path, headers, body: '{}' });
        expect([401, 404]).toContain(answer.status);
        if (path.startsWith('/api')) {
          expect(answer.status).toBe(401);
          const type = 'invalid_request_error';
          expect(errorOf(answer.text)).toMatchObject({ type, param: null, code: 'invalid_local_token' });
        }
        expect(answer.text).not.toContain(LOCAL_TOKEN);
      }
    },
  );

  it('/api with the local token', async () => {
    const headers = { ...json, authorization: `Bearer ${LOCAL_TOKEN}` };
    const call = { jsonrpc: '2.0', method: 'nothing', id: 1 };
    const answer = await rawHttp(gateway.port, {
      method: 'POST',
      path: '/api/rpc',
      headers,
      body: JSON.stringify(call),
    });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: '2.0', id: 1, error: { code: -32601 } });
    expect((await rawHttp(gateway.port, { method: 'GET', path: '/api/nothing', headers })).status).toBe(404);
  });

  it('on loopback only, where nothing else is said', async () => {
    const app = createGateway({ models: servedModels(), localToken: LOCAL_TOKEN, build: '0', log: keptLog().log });
    await app.listen({ port: 0 });
    expect(app.addresses().length).toBeGreaterThan(0);
    for (const at of app.addresses()) expect(at).toHaveProperty('address', expect.stringMatching(/^(127.0.0.1|::1)$/));
    await app.close();
  });

  it('nobody over another address than loopback', async () => {
    const open = await listen({ models: servedModels() }, '0.0.0.0');
    const outer = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .find((address) => address.family === 'IPv4' && !address.internal);
    if (outer === undefined) console.warn('SKIPPED: this machine has no address beside loopback.');
    else {
      const socket = connect(open.port, outer.address);
      socket.end('GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
      const chunks: Buffer[] = [];
      for await (const chunk of socket) chunks.push(chunk);
      expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1.1 403 [\s\S]*loopback_only/);
    }
    await open.app.close();
  });
});

describe('requests that cannot be read', () => {
  it('an address that is too long, without repeating it', async () => {
    const answer = await rawHttp(gateway.port, { method: 'GET', path: `/v1/models/${'a'.repeat(9_000)}` });
    expect(answer.status).toBe(414);
    expect(errorOf(answer.text).type).toBe('invalid_request_error');
    expect(answer.text.length).toBeLessThan(500);
  });

  it('two Host headers', async () => {
    const bytes = 'GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n';
    expect(await rawBytes(gateway.port, bytes)).toMatch(/^HTTP\/1.1 400 [\s\S]*"code":"bad_http"/);
  });

  it.each([
    ['an unknown route', 'GET', '/v1/nothing', {}, null, 404, 'unknown_url'],
    ['a known route with another method', 'PUT', '/v1/chat/completions', json, '{}', 405, 'method_not_allowed'],
    ['a route of POST', 'GET', '/v1/embeddings?a=b', {}, null, 405, 'method_not_allowed'],
    ['a broken address', 'GET', '/v1/models/%zz', {}, null, 400, null],
    ['JSON that ends early', 'POST', '/v1/chat/completions', json, '{"model":', 400, 'invalid_json'],
    ['no body', 'POST', '/v1/chat/completions', json, '', 400, 'invalid_json'],
    ['no body and no type', 'POST', '/v1/chat/completions', {}, null, 400, null],
    ['a __proto__ key', 'POST', '/v1/chat/completions', json, '{"__proto__": {"model": "demo"}}', 400, 'invalid_json'],
    [
      'bytes that are no UTF-8',
      'POST',
      '/v1/chat/completions',
      json,
      Buffer.from([0x22, 0xc3, 0x22]),
      400,
      'invalid_json',
    ],
    ['a form', 'POST', '/v1/chat/completions', { 'content-type': 'text/plain' }, '{}', 415, null],
    [
      'a body over the limit',
      'POST',
      '/v1/chat/completions',
      json,
      `"${'a'.repeat(10_000)}"`,
      413,
      'request_too_large',
    ],
    ['deep nesting', 'POST', '/v1/chat/completions', json, '['.repeat(9_000), 400, 'invalid_json'],
  ] as const)('%s', async (_name, method, path, headers, body, status, code) => {
    const answer = await rawHttp(gateway.port, { method, path, headers, body });
    expect(answer.status, answer.text).toBe(status);
    const error = errorOf(answer.text);
    expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type']);
    expect(error.code).toBe(code);
    expect(error.type).toBe('invalid_request_error');
    expect(error.param).toBeNull();
    expect(answer.headers.allow).toBe(status === 405 ? 'POST, OPTIONS' : undefined);
  });

  it.each([
    ['what is no HTTP', 'hello\r\n\r\n', '400'],
    [
      'two lengths',
      'POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
      '400',
    ],
    ['headers without end', `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`, '431'],
  ])('%s', async (name, bytes, status) => {
    const answer = await rawBytes(gateway.port, bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const { code, message } = errorOf(answer.slice(answer.indexOf('{')));
    expect(code).toBe('bad_http');
    expect(message.includes('header lines')).toBe(name === 'headers without end');
  });

  it.each([
    [
      'a body',
      'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    ],
    ['headers', 'GET /health HTTP/1.1\r\nHost: localhost\r\nX: '],
  ])('%s that does not come to an end is told so when its time is over', async (_name, bytes) => {
    const hasty = await listen({ models: servedModels(), requestTimeoutMs: 200 });
    const answer = await rawBytes(hasty.port, bytes);
    expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect(errorOf(answer.slice(answer.indexOf('{')))).toMatchObject({ type: 'invalid_request_error', param: null });
    await hasty.app.close();
  });

  it('a request that is left half sent', async () => {
    const socket = connect(gateway.port, '127.0.0.1');
    socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"mod');
    await once(socket, 'ready');
    socket.destroy();
    expect((await rawHttp(gateway.port, { method: 'GET', path: '/health' })).status).toBe(200);
  });
});

async function rawBytes(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(bytes);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
