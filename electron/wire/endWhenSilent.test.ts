import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { endWhenSilent } from './endWhenSilent.ts';

const open: Socket[] = [];
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});

/** Two ends of a connection. */
async function pair(): Promise<{ near: Socket; far: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [far]: Socket[] = await once(server, 'connection');
  if (far === undefined) throw new Error('no connection');
  server.close();
  open.push(near, far);
  near.resume();
  return { near, far: far.resume() };
}

test('a connection over which nothing comes is ended', async () => {
  const { near } = await pair();
  const closed = once(near, 'close');
  endWhenSilent(near, 1000);
  await closed;
  expect(near.destroyed).toBe(true);
});

test('time in which this process itself stood still is no silence of the other end', async () => {
  const { near, far } = await pair();
  endWhenSilent(near, 1000);
  far.write('here');
  const heard = once(near, 'data');
  // What has come waits to be read for far longer than a silence may last.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);
  await heard;
  expect(near.destroyed).toBe(false);
});
