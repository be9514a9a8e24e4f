import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import WebSocket from 'ws';
import { createGateway } from './createGateway.ts';
import type { MemberMessage, WindowMessage } from './memberApi.ts';
import { serveWindow } from './memberSocket.ts';
import { keptLog, LOCAL_TOKEN } from './testing/demoGateway.ts';
import { rawHttp } from './testing/rawHttp.ts';
import { localMemberApi, MemberStateStore } from './window/memberState.ts';
import { readRendererFiles } from './window/rendererFiles.ts';
import { WindowAccess } from './window/windowAccess.ts';

let folder: string;
let app: FastifyInstance;
let port: number;
let store: MemberStateStore;
let access: WindowAccess;
let sockets: WebSocket[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-window-'));
  await mkdir(join(folder, 'built', 'assets'), { recursive: true });
  await writeFile(join(folder, 'secret.html'), 'not for the world');
  await writeFile(join(folder, 'built', 'index.html'), '<!doctype html><title>Roomful</title>');
  await writeFile(join(folder, 'built', 'assets', 'a-1.js'), 'export {};');
  await writeFile(join(folder, 'built', '.env'), 'not for the world');
  await symlink(join(folder, 'secret.html'), join(folder, 'built', 'link.html'));
  store = new MemberStateStore({ self: { id: 'm', name: 'desk' }, pipelines: [], endpoint: 'http://127.0.0.1/v1' });
  access = new WindowAccess();
  sockets = [];
  app = createGateway({
    models: { list: () => [], find: () => undefined },
    localToken: LOCAL_TOKEN,
    build: '0',
    log: keptLog().log,
  });
  const files = await readRendererFiles(join(folder, 'built'));
  serveWindow(app, { api: localMemberApi({ state: store }), files, access, localToken: LOCAL_TOKEN });
  port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
});

afterEach(async () => {
  await app.close();
  for (const socket of sockets) socket.terminate();
  await rm(folder, { recursive: true });
});

const ownOrigin = () => `http://127.0.0.1:${port}`;

/** Opens the socket; resolves with it and what it receives, or with the status of a refusal. */
function openSocket(
  headers: Record<string, string>,
): Promise<{ socket: WebSocket; received: MemberMessage[] } | number> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/window/socket`, { headers });
  sockets.push(socket);
  const received: MemberMessage[] = [];
  socket.on('message', (data) => received.push(JSON.parse(data.toString())));
  return new Promise((resolve, reject) => {
    socket.on('open', () => resolve({ socket, received }));
    socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
    socket.on('error', reject);
  });
}

async function openOrFail(headers: Record<string, string>) {
  const opened = await openSocket(headers);
  if (typeof opened === 'number') throw new Error(`refused with ${opened}`);
  return opened;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function signIn(token = access.createToken()): Promise<string> {
  const answer = await rawHttp(port, {
    method: 'POST',
    path: '/window/session',
    headers: { 'content-type': 'application/json', origin: ownOrigin() },
    body: JSON.stringify({ token }),
  });
  expect(answer.status, answer.text).toBe(204);
  const [cookie] = answer.headers['set-cookie'] ?? [];
  expect(cookie).toMatch(/; HttpOnly; SameSite=Strict; Path=\/window$/);
  return cookie?.split(';')[0] ?? '';
}

test('a browser signs in with a token, calls and follows the state', async () => {
  const cookie = await signIn();
  const { socket, received } = await openOrFail({ cookie: `other=1; ${cookie}`, origin: ownOrigin() });
  const send = (message: WindowMessage) => socket.send(JSON.stringify(message));
  send({ kind: 'subscribe', topic: 'state' });
  await until(() => received.length === 1);
  store.update((state) => ({ ...state, endpoint: 'http://127.0.0.1:1/v1' }));
  send({ kind: 'call', id: 3, method: 'state', params: {} });
  await until(() => received.length === 3);
  expect(received).toEqual([
    { kind: 'event', topic: 'state', value: { ...store.state, endpoint: 'http://127.0.0.1/v1' } },
    { kind: 'event', topic: 'state', value: store.state },
    { kind: 'result', id: 3, value: store.state },
  ]);
});

test('a token works once', async () => {
  const token = access.createToken();
  await signIn(token);
  const again = await rawHttp(port, {
    method: 'POST',
    path: '/window/session',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  expect(again.status).toBe(401);
  expect(again.headers['set-cookie']).toBeUndefined();
  expect(JSON.parse(again.text).error.code).toBe('invalid_link');
});

test('the session can be asked for', async () => {
  const ask = (cookie: string) => rawHttp(port, { method: 'GET', path: '/window/session', headers: { cookie } });
  expect((await ask('')).status).toBe(401);
  expect((await ask(await signIn())).status).toBe(204);
});

test('the socket stays shut without a session, from another page, and for another member', async () => {
  const cookie = await signIn();
  const [name, value] = cookie.split('=');
  expect(await openSocket({ origin: ownOrigin() })).toBe(401);
  expect(await openSocket({ origin: ownOrigin(), cookie: `${name}=${'x'.repeat(43)}` })).toBe(401);
  expect(await openSocket({ origin: ownOrigin(), cookie: `roomful_window_${port + 1}=${value}` })).toBe(401);
  expect(await openSocket({ cookie })).toBe(401);
  expect(await openSocket({ cookie, origin: `http://localhost:${port}` })).toBe(401);
  expect(await openSocket({ cookie, origin: `http://127.0.0.1:${port + 1}` })).toBe(403);
  expect(await openSocket({ cookie, origin: 'null' })).toBe(403);
});

test('a program opens the socket with the local token', async () => {
  expect(await openSocket({ authorization: `Bearer ${'b'.repeat(64)}` })).toBe(401);
  const { socket, received } = await openOrFail({ authorization: `Bearer ${LOCAL_TOKEN}` });
  socket.send(JSON.stringify({ kind: 'call', id: 0, method: 'state', params: {} }));
  await until(() => received.length === 1);
});

test.each([
  ['no JSON', 'state'],
  ['no message of the contract', '{"kind":"run"}'],
  ['binary', Buffer.from('{"kind":"subscribe","topic":"state"}')],
  ['too long', `"${'x'.repeat(2 ** 20)}"`],
])('%s closes the socket, and the member goes on', async (_name, message) => {
  const { socket } = await openOrFail({ authorization: `Bearer ${LOCAL_TOKEN}` });
  const code = new Promise((resolve) => socket.on('close', resolve));
  socket.send(message);
  expect(await code).toBe(_name === 'too long' ? 1009 : 1008);
  store.update((state) => ({ ...state }));
  await openOrFail({ authorization: `Bearer ${LOCAL_TOKEN}` });
});

test('the page comes with a strict policy and is validated by its tag', async () => {
  const page = await rawHttp(port, { method: 'GET', path: '/' });
  expect(page.status).toBe(200);
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(page.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self';");
  expect(page.headers['content-security-policy']).not.toContain('unsafe');
  expect(page.headers['cache-control']).toBe('no-cache');
  const headers = { 'if-none-match': page.headers.etag };
  expect((await rawHttp(port, { method: 'GET', path: '/', headers })).status).toBe(304);
  const script = await rawHttp(port, { method: 'GET', path: '/assets/a-1.js' });
  expect(script.headers['cache-control']).toContain('immutable');
  expect((await rawHttp(port, { method: 'HEAD', path: '/' })).status).toBe(200);
});

test.each([
  '/index.html',
  '/.env',
  '/link.html',
  '/../secret.html',
  '/%2e%2e/secret.html',
  '/assets',
  '/assets/../.env',
])('GET %s is not served', async (path) => {
  const answer = await rawHttp(port, { method: 'GET', path });
  expect(answer.status).toBe(404);
  expect(answer.text).not.toContain('not for the world');
});

test('a window that was never built is one plain line', async () => {
  await expect(readRendererFiles(join(folder, 'nowhere'))).rejects.toThrow('npm run build');
});

test.each(['h2c', 'TLS/1.0', 'nonsense'])('a request that offers to upgrade to %s keeps its body', async (protocol) => {
  const body = JSON.stringify({ model: 'nobody', messages: [{ role: 'user', content: 'hi'.repeat(50_000) }] });
  for (const framing of [{ 'content-length': Buffer.byteLength(body) }, { 'transfer-encoding': 'chunked' }]) {
    const answer = await rawHttp(port, {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: {
        host: `127.0.0.1:${port}`,
        connection: 'Upgrade, HTTP2-Settings',
        upgrade: protocol,
        'http2-settings': 'AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA',
        'content-type': 'application/json',
        ...framing,
      },
      body,
    });
    expect(answer.status, answer.text).toBe(404);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'model_not_found' } });
  }
});
