import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Member, startMember } from '../electron/member.ts';
import { nodeLauncher } from '../electron/stage/nodeLauncher.ts';
import { demoModelPath } from './testing/demoCorpus.ts';
import { eventually } from './testing/eventually.ts';

let home: string;
let member: Member;
let model: string;
let ca: string;
let address: URL;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'roomful-access-'));
  member = await startMember({ home, name: 'ada', threads: 1, launcher: nodeLauncher });
}, 180_000);
afterAll(async () => {
  await member.close();
  await rm(home, { recursive: true, force: true });
});

test('without a pool there is no certificate that clients could check', async () => {
  await expect(member.api.call('changeEndpoint', { lan: true, port: 0 })).rejects.toThrow(/roomful create/);
  expect((await member.api.call('endpoint', {})).lan).toMatchObject({ wanted: false, problem: null });
  await member.api.call('create', { name: 'Attic' });
  ({ certificate: ca } = await member.api.call('poolCertificate', {}));
  ({ model } = await member.api.call('serve', { modelPath: demoModelPath, contextLength: 512 }));
}, 60_000);

interface Answer {
  status: number;
  headers: Record<string, unknown>;
  text: string;
}

/** As a program of another machine that knows the pool's certificate and nothing else. */
async function ask(
  path: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: object } = {},
): Promise<Answer> {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  // Without a name of its own Node would take the Host header for that of the server.
  const options = { host: address.hostname, port: address.port, ca, servername: '', agent: false as const };
  const request = httpsRequest({ ...options, path, method, headers: { ...type, ...headers } });
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = await once(request, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, headers: response.headers, text: Buffer.concat(chunks).toString() };
}

const call = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const chat = (extra: object = {}) => ({
  model,
  messages: [{ role: 'user', content: 'What is a hop?' }],
  max_tokens: 4,
  ...extra,
});

test('other machines get in only after a choice, over HTTPS that the pool vouches for, and with a key', async () => {
  const { api } = member;
  expect((await api.call('endpoint', {})).lan).toMatchObject({ wanted: false, addresses: [] });
  const { lan } = await api.call('changeEndpoint', { lan: true, port: 0 });
  expect(lan.problem).toBeNull();
  address = new URL(lan.addresses[0] ?? '');
  expect(address.protocol).toBe('https:');

  expect((await ask('/health')).status).toBe(200);
  expect((await ask('/ca.pem')).text).toBe(ca);
  for (const path of ['/v1/models', '/api/tags', '/metrics']) expect((await ask(path)).status, path).toBe(401);
  const refused = await ask('/v1/chat/completions', { method: 'POST', headers: call('sk-none'), body: chat() });
  expect([refused.status, JSON.parse(refused.text).error.code]).toEqual([401, 'invalid_api_key']);

  const { key, id } = await api.call('addApiKey', { name: 'notes' });
  expect((await ask('/v1/models', { headers: call(key) })).text).toContain(model);
  await expect(api.call('addApiKey', { name: 'notes' })).rejects.toThrow(/already/);
  expect((await ask('/v1/models', { headers: { ...call(key), host: 'evil.example' } })).status).toBe(403);
  for (const method of ['status', 'addApiKey']) {
    const answer = await ask(`/api/member/${method}`, { method: 'POST', headers: call(key), body: {} });
    expect(answer.status, 'the member itself is for this machine alone').toBe(404);
  }

  const path = join(home, 'api-keys.json');
  expect(await readFile(path, 'utf8')).not.toContain(key);
  if (process.platform !== 'win32') expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(JSON.stringify(await api.call('endpoint', {}))).not.toContain(key);

  await api.call('revokeApiKey', { key: id });
  expect((await ask('/v1/models', { headers: call(key) })).status).toBe(401);
});

test('what is done with a key is counted, whatever route it takes', async () => {
  const { api } = member;
  const { key } = await api.call('addApiKey', { name: 'counted' });
  const post = (path: string, body: object): Promise<Answer> => ask(path, { method: 'POST', headers: call(key), body });
  const whole = JSON.parse((await post('/v1/chat/completions', chat())).text).usage;
  await post('/v1/chat/completions', chat({ stream: true }));
  await post('/api/chat', { ...chat(), stream: false, options: { num_predict: 4 } });
  const embedded = JSON.parse((await post('/v1/embeddings', { model, input: 'A hop.' })).text).usage;
  await post('/v1/chat/completions', { model });
  const counted = (await api.call('endpoint', {})).keys.find(({ name }) => name === 'counted');
  expect(counted).toMatchObject({
    requests: 5,
    promptTokens: 3 * whole.prompt_tokens + embedded.prompt_tokens,
    completionTokens: 12,
  });
  expect(counted?.lastUsedMs).toBeGreaterThan(0);
});

test('pages of chosen origins may call, asked on any route, and others may not', async () => {
  const { api } = member;
  const origin = 'http://notes.example:3000';
  const preflight = { 'access-control-request-method': 'POST', origin };
  const options = (path: string): Promise<Answer> => ask(path, { method: 'OPTIONS', headers: preflight });
  expect((await options('/v1/models')).status).toBe(403);
  await expect(api.call('changeEndpoint', { lan: true, port: 0, origins: [origin] })).resolves.toMatchObject({
    origins: [origin],
  });
  for (const path of ['/v1/models', '/v1/chat/completions', '/v1/embeddings', '/api/chat', '/health', '/nowhere']) {
    const { status, headers } = await options(path);
    expect([status, headers['access-control-allow-origin']], path).toEqual([204, origin]);
  }
  const here = await fetch(`${member.gateway}/v1/models`, { headers: { origin } });
  expect(here.headers.get('access-control-allow-origin')).toBe(origin);
  await api.call('changeEndpoint', { origins: [] });
  expect((await options('/v1/models')).status).toBe(403);
});

test('where its port is taken it says so, and is opened by itself once that is free', async () => {
  const taken = createServer();
  const { lan: open } = await member.api.call('changeEndpoint', { lan: true });
  const port = Number(new URL(open.addresses[0] ?? '').port);
  await member.api.call('changeEndpoint', { port });
  await member.close();
  taken.listen(port, '::');
  await once(taken, 'listening');
  member = await startMember({ home, name: 'ada', threads: 1, launcher: nodeLauncher });
  const lan = async () => (await member.api.call('endpoint', {})).lan;
  await eventually(async () => expect((await lan()).problem).toMatch(new RegExp(`Port ${port} .*--port`)));
  await expect(member.api.call('changeEndpoint', { origins: ['http://notes.example'] })).resolves.toMatchObject({
    lan: { wanted: true, addresses: [], port },
  });
  taken.close();
  await once(taken, 'close');
  await eventually(async () =>
    expect(await lan()).toMatchObject({ wanted: true, problem: null, addresses: open.addresses }),
  );
  expect((await ask('/health')).status).toBe(200);
}, 120_000);

test('taken back, nobody is answered any more', async () => {
  const { lan } = await member.api.call('changeEndpoint', { lan: false });
  expect(lan.addresses).toEqual([]);
  await expect(ask('/health')).rejects.toThrow();
});
