import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { uploadRoute } from './uploadRoute.ts';

let folder: string;
let app: FastifyInstance;
let origin: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roomful-upload-'));
  app = Fastify();
  uploadRoute(app, folder, async () => {});
  origin = await app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  await app.close();
  await rm(folder, { recursive: true, force: true });
});

const put = (name: string, body: string | ReadableStream) =>
  fetch(`${origin}/window/files/${encodeURIComponent(name)}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream' },
    body,
    ...(body instanceof ReadableStream && { duplex: 'half' }),
  } as RequestInit);

test('a dropped file lies in the folder of models', async () => {
  const answer = await put('my model-Q4_K_M.gguf', 'GGUF');
  expect(await answer.json()).toEqual({ path: join(folder, 'my model-Q4_K_M.gguf') });
  expect(await readFile(join(folder, 'my model-Q4_K_M.gguf'), 'utf8')).toBe('GGUF');
});

test.each(['../up.gguf', '.hidden.gguf', 'a/b.gguf', 'model.bin', 'a\\b.gguf', 'a\u0000.gguf'])(
  '%j is refused',
  async (name) => {
    expect((await put(name, 'GGUF')).status).toBeGreaterThanOrEqual(400);
    expect(await readdir(folder)).toEqual([]);
  },
);

test('a file that is there stays as it is', async () => {
  await put('a.gguf', 'first');
  const answer = await put('a.gguf', 'second');
  expect(answer.status).toBe(409);
  expect(await readFile(join(folder, 'a.gguf'), 'utf8')).toBe('first');
  expect(await readdir(folder)).toEqual(['a.gguf']);
});

test('the same file again is taken as it lies there', async () => {
  await put('a.gguf', 'first');
  const answer = await put('a.gguf', 'first');
  expect(await answer.json()).toEqual({ path: join(folder, 'a.gguf') });
  expect(await put('a.gguf', 'fjrst')).toMatchObject({ status: 409 });
  expect(await readdir(folder)).toEqual(['a.gguf']);
});

test('a file that breaks off leaves nothing', async () => {
  const broken = new ReadableStream({
    start: (controller) => controller.enqueue(new Uint8Array(1000)),
    pull: (controller) => controller.error(new Error('the window was closed')),
  });
  await put('a.gguf', broken).catch(() => {});
  await expect.poll(() => readdir(folder)).toEqual([]);
});
