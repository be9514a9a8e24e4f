import { once } from 'node:events';
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { DEMO_MODEL_ID, demoGateway, LOCAL_TOKEN } from './testing/demoGateway.ts';
import { rawHttp } from './testing/rawHttp.ts';

const LIMIT = 60_000;
const WARM_UP = 200;
const RUNS = 1000;
/** The same bodies every time. */
const SEED = 7;
/** What the heap may have grown by after all requests, bytes: less than any of them that were kept would take. */
const MOST_GROWTH = 16 * 1024 * 1024;

let gateway: Awaited<ReturnType<typeof demoGateway>>;
let routes: string[];
beforeAll(async () => {
  gateway = await demoGateway({ bodyLimit: LIMIT });
  // So that no route that comes later is forgotten.
  routes = postRoutes(gateway.app.printRoutes({ commonPrefix: false }));
});
afterAll(() => gateway.close());

/** The paths of fastify's tree of routes that take POST. */
function postRoutes(tree: string): string[] {
  const found: string[] = [];
  const parents: string[] = [];
  for (const line of tree.split('\n')) {
    const match = /^([│ ]*)[├└]── (\S*) ?(?:\((.*)\))?$/.exec(line);
    if (match === null) continue;
    const [, indent = '', part = '', methods = ''] = match;
    const depth = indent.length / 4;
    parents.length = depth;
    parents.push(part);
    if (methods.split(', ').includes('POST')) found.push(parents.join(''));
  }
  return found;
}

const deep = fc
  .tuple(fc.constantFrom('[', '{"a":', '{"messages":[', '{"input":['), fc.integer({ min: 1, max: 20_000 }))
  .map(([open, times]) => Buffer.from(open.repeat(times).slice(0, 2 * LIMIT)));
const closedDeep = fc.integer({ min: 1, max: 8000 }).map((times) => {
  return Buffer.from(`{"model":"${DEMO_MODEL_ID}","messages":${'['.repeat(times)}${']'.repeat(times)}}`);
});
const huge = fc.integer({ min: 1000, max: LIMIT }).map((length) => {
  return Buffer.from(JSON.stringify({ model: 'é'.repeat(length), prompt: 1, input: 2 }));
});
const badUtf8 = fc.uint8Array({ minLength: 1, maxLength: 50 }).map((bytes) => {
  return Buffer.concat([Buffer.from('{"model":"'), Buffer.from(bytes), Buffer.from([0xff, 0xc0, 0x22, 0x7d])]);
});
/** Fields that routes know, with values of any kind; never a request that could be answered. */
const wrongTypes = fc
  .record(
    {
      model: fc.oneof(fc.constant(DEMO_MODEL_ID), fc.jsonValue()),
      messages: fc.jsonValue(),
      prompt: fc.oneof(fc.double(), fc.boolean(), fc.dictionary(fc.string(), fc.jsonValue())),
      input: fc.oneof(fc.double(), fc.boolean(), fc.dictionary(fc.string(), fc.jsonValue())),
      stream: fc.oneof(fc.string(), fc.integer()),
      options: fc.oneof(fc.string(), fc.integer()),
      tools: fc.oneof(fc.string(), fc.integer()),
      stop: fc.jsonValue(),
      params: fc.jsonValue(),
      method: fc.jsonValue(),
    },
    { requiredKeys: ['stream', 'options'] },
  )
  .map((value) => Buffer.from(JSON.stringify(value)));
const anyBody = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((text) => Buffer.from(text)),
  deep,
  closedDeep,
  huge,
  badUtf8,
  wrongTypes,
);

it('a thousand random bodies over every route crash nothing, leak nothing, and are told what is wrong', async () => {
  expect(routes).toEqual(expect.arrayContaining(['/v1/chat/completions', '/v1/embeddings', '/api/chat', '/api/rpc']));
  const [collect] = collector();
  let seen = 0;
  let before = 0;
  await fc.assert(
    fc.asyncProperty(fc.nat(), anyBody, async (pick, body) => {
      if (seen === WARM_UP) before = collect();
      seen += 1;
      const path = routes[pick % routes.length] ?? '';
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${LOCAL_TOKEN}` };
      const answer = await rawHttp(gateway.port, { method: 'POST', path, headers, body });
      expect(answer.status, `${path} ${answer.text}`).toBeLessThan(500);
      // JSON-RPC answers what it cannot do with 200; a name alone asks Ollama what a model is, and whether it is there.
      if (path === '/api/rpc' || path === '/api/show' || answer.text.includes('"done_reason":"load"')) return;
      expect(answer.status, `${path} ${answer.text}`).toBeGreaterThanOrEqual(400);
      expect(JSON.parse(answer.text), path).toHaveProperty('error');
    }),
    { numRuns: RUNS, seed: SEED, endOnFailure: true },
  );
  expect(gateway.model.running()).toBe(0);
  expect(collect() - before).toBeLessThan(MOST_GROWTH);
  expect(gateway.lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
}, 240_000);

/** The heap in bytes once everything that can go has gone. */
function collector(): [() => number] {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  return [
    () => {
      collect();
      return process.memoryUsage().heapUsed;
    },
  ];
}

/** Sends bytes as they are and gives what comes back until the gateway hangs up, or `leave` ms without that. */
async function raw(bytes: Buffer | string, { leaves }: { leaves: boolean }): Promise<string> {
  const socket = connect(gateway.port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => {});
  await once(socket, 'connect');
  await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
  if (leaves) socket.destroy();
  else if (!socket.closed) await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

it('bytes that are no whole request are refused, and their sockets given back', async () => {
  const [path = ''] = routes;
  const head = (...more: string[]): string =>
    [`POST ${path} HTTP/1.1`, 'Host: 127.0.0.1', 'Content-Type: application/json', ...more, '', ''].join('\r\n');
  const refused = [
    `${head('Content-Length: 2', 'Content-Length: 3')}{}`,
    `${head('Content-Length: 2', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
    `${head('Content-Length: -1')}{}`,
    `${head('Content-Length: 1e3')}{}`,
    `${head('Transfer-Encoding: chunked')}zz\r\n{}\r\n`,
    `${head(`X: ${'a'.repeat(100_000)}`)}`,
    'GET\r\n\r\n',
    Buffer.from([0x16, 0x03, 0x01, 0x00, 0xa5]),
  ];
  for (const bytes of refused) {
    const answer = await raw(bytes, { leaves: false });
    expect(answer, String(bytes).slice(0, 200)).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toMatchObject({ error: { code: 'bad_http' } });
  }
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.integer({ min: 0, max: 200 }), async (pick, sent) => {
      const body = JSON.stringify({ model: DEMO_MODEL_ID, messages: [{ role: 'user', content: 'x'.repeat(300) }] });
      const whole = head(`Content-Length: ${body.length}`).replace(path, routes[pick % routes.length] ?? '') + body;
      await raw(whole.slice(0, whole.length - body.length + sent), { leaves: true });
    }),
    { numRuns: 100, seed: SEED, endOnFailure: true },
  );
  const sockets = (): Promise<number> =>
    new Promise((resolve, reject) => {
      gateway.app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  await vi.waitUntil(async () => (await sockets()) === 0, { timeout: 30_000 });
  expect(gateway.model.running()).toBe(0);
  expect((await rawHttp(gateway.port, { method: 'GET', path: '/health' })).status).toBe(200);
}, 240_000);
