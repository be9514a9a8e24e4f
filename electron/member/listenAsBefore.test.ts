import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listenAsBefore } from './listenAsBefore.ts';

let home: string;
const apps: FastifyInstance[] = [];
const others: Server[] = [];
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'roomful-port-'));
});
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
  for (const other of others.splice(0)) await new Promise((resolve) => other.close(resolve));
  await rm(home, { recursive: true, force: true });
});

/** The port that a gateway gets which is started in this data folder. */
async function started(chosen?: number): Promise<number> {
  const app = Fastify();
  apps.push(app);
  app.get('/', async () => 'here');
  let port = 0;
  const listen = async (wanted: number) => {
    port = Number(new URL(await app.listen({ host: '127.0.0.1', port: wanted })).port);
    return port;
  };
  await listenAsBefore(home, listen, chosen);
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('here');
  return port;
}

async function restart(chosen?: number): Promise<number> {
  await apps.pop()?.close();
  return started(chosen);
}

test('the port of the last time is taken again', async () => {
  const first = await started();
  expect(await restart()).toBe(first);
  expect(await restart()).toBe(first);
});

test('where another program has it, another one is taken, and that from then on', async () => {
  const first = await started();
  await apps.pop()?.close();
  const other = createServer();
  others.push(other);
  await new Promise<void>((resolve) => other.listen(first, '127.0.0.1', resolve));
  const second = await started();
  expect(second).not.toBe(first);
  await new Promise((resolve) => others.pop()?.close(resolve));
  expect(await restart()).toBe(second);
});

test('a chosen port is taken, also the next time, or it is said that it cannot be', async () => {
  const first = await started();
  await expect(started(first)).rejects.toThrow(`Port ${first} is taken by another program`);
  await apps.pop()?.close();
  const chosen = await restart();
  await apps.pop()?.close();
  await rm(join(home, 'endpoint-port.json'));
  expect(await started(chosen)).toBe(chosen);
  expect(await restart()).toBe(chosen);
});

test('a note that cannot be read is as good as none', async () => {
  await writeFile(join(home, 'endpoint-port.json'), '{"port": "many"}');
  expect(await started()).toBeGreaterThan(0);
  expect(await readdir(home)).toEqual(['endpoint-port.json']);
});
