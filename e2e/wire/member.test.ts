import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { RunStageRequest, StageEvent } from '../../electron/wire/generated/roomful/v1/member.ts';
import type { Epoch } from '../../electron/wire/generated/roomful/v1/ring.ts';
import { MemberClient } from '../../electron/wire/memberClient.ts';
import { type MemberHandlers, memberService } from '../../electron/wire/memberService.ts';
import { DeadlineExceeded, LinkLost, WrongPeer } from '../../electron/wire/wireError.ts';
import { WireServer } from '../../electron/wire/wireServer.ts';
import { stageOrder } from '../testing/stageOrder.ts';
import { type TestMember, TestPool } from '../testing/testPool.ts';

let pool: TestPool;
let asked: TestMember;
let asking: TestMember;
let server: WireServer;
let client: MemberClient;
let handlers: Partial<MemberHandlers>;
let epoch: Epoch;
let order: RunStageRequest;

const unexpected = (): Promise<never> => Promise.reject(new Error('not expected in this test'));

beforeAll(async () => {
  pool = await TestPool.create();
  asked = await pool.member();
  asking = await pool.member();
  epoch = { counter: 1, coordinator: asking.id };
  order = stageOrder({ epoch, stages: 2, endLayer: 6 });
});

beforeEach(async () => {
  handlers = {};
  const service = memberService({
    self: () => asked.id,
    hello: (request, peer) => (handlers.hello ?? unexpected)(request, peer),
    runStage: (stage, call) => (handlers.runStage ?? unexpected)(stage, call),
    linkStage: (link, peer) => (handlers.linkStage ?? unexpected)(link, peer),
  });
  server = await WireServer.start({ tls: asked.tls, host: '127.0.0.1', port: 0, services: [service] });
  client = new MemberClient({ address: server.address, member: asked.id, tls: asking.tls });
});

afterEach(async () => {
  client.close();
  await server.close();
});

afterAll(async () => {
  await pool.remove();
});

test('hello tells who asks by its certificate', async () => {
  const reply = { wireVersion: 1, build: 'b', member: asked.id, name: 'n', shareBytes: 2 ** 40, backend: 'cpu' };
  let peer = '';
  handlers.hello = async (_request, from) => {
    peer = from;
    return reply;
  };
  expect(await client.hello({ wireVersion: 1, build: 'b' })).toEqual(reply);
  expect(peer).toBe(asking.id);
});

test('a stage runs as long as somebody iterates, and leaving tells the member', async () => {
  let stopped: (value: string) => void = () => {};
  const end = new Promise<string>((resolve) => {
    stopped = resolve;
  });
  handlers.runStage = async (stage, { emit, signal, peer }) => {
    expect(stage).toMatchObject({ model: 'f'.repeat(64), endLayer: 6, kvType: 'f16' });
    emit({ progress: { phase: 'loading', fraction: 0.5, doneBytes: 0, totalBytes: 0 } });
    emit({ loaded: { address: '127.0.0.1:1', weightBytes: 1, kvBytes: 2, computeBytes: 3 } });
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    stopped(peer);
  };
  const events: StageEvent[] = [];
  for await (const event of client.runStage(order)) {
    events.push(event);
    if (event.loaded !== undefined) break;
  }
  expect(events).toHaveLength(2);
  expect(await end).toBe(asking.id);
});

test('an abort of the caller is the end of the stage', async () => {
  const controller = new AbortController();
  handlers.runStage = (_stage, { signal }) =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  const events = client.runStage(order, controller.signal).next();
  controller.abort();
  await expect(events).rejects.toMatchObject({ name: 'CallCancelled' });
});

test('what a handler throws arrives with its kind and its line, also beyond ASCII', async () => {
  handlers.linkStage = () => Promise.reject(Object.assign(new Error('Größe passt nicht'), { kind: 'LoadFailed' }));
  const link = client.linkStage({
    pipeline: 'p',
    epoch,
    position: 1,
    predecessorAddress: 'a:1',
    predecessorMember: 'm',
  });
  await expect(link).rejects.toMatchObject({
    name: 'CallRefused',
    reason: 'Failed',
    kind: 'LoadFailed',
    message: 'Größe passt nicht',
  });
});

test.each([
  ['endLayer', { endLayer: 0 }],
  ['kvType', { kvType: 'q2' }],
  ['epoch', { epoch: undefined }],
  ['layer', { startLayer: 6 }],
  ['position', { position: 2 }],
])('an order with a bad %s is refused before any handler sees it', async (name, change) => {
  const events = client.runStage({ ...order, ...change }).next();
  await expect(events).rejects.toMatchObject({ reason: 'BadRequest', message: expect.stringContaining(name) });
});

test('a member drives with its own stages what another has planned', async () => {
  handlers.runStage = async (stage) => expect(stage.epoch.coordinator).toBe('c');
  const own = new MemberClient({ address: server.address, member: asked.id, tls: asked.tls });
  for await (const _ of own.runStage({ ...order, epoch: { ...epoch, coordinator: 'c' } })) break;
  own.close();
});

test('an order in the name of another coordinator is refused before any handler sees it', async () => {
  const refused = { name: 'CallRefused', reason: 'WrongMember' };
  const named = { ...order, epoch: { ...epoch, coordinator: asked.id } };
  await expect(client.runStage(named).next()).rejects.toMatchObject(refused);
  const link = { pipeline: 'p', position: 0, predecessorAddress: '127.0.0.1:1', predecessorMember: asking.id };
  await expect(client.linkStage({ ...link, epoch: named.epoch })).rejects.toMatchObject(refused);
});

test('a member that does not answer runs into the deadline', async () => {
  handlers.hello = () => new Promise(() => {});
  await expect(client.hello({ wireVersion: 1, build: 'b' }, 100)).rejects.toBeInstanceOf(DeadlineExceeded);
});

test('a member that falls silent while it loads runs into the deadline, one that has loaded may be silent', async () => {
  handlers.runStage = async (_stage, { emit, signal }) => {
    emit({ progress: { phase: 'loading', fraction: 0, doneBytes: 0, totalBytes: 0 } });
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  };
  const silent = client.runStage(order, undefined, 2000);
  await silent.next();
  await expect(silent.next()).rejects.toBeInstanceOf(DeadlineExceeded);

  handlers.runStage = async (_stage, { emit }) => {
    emit({ loaded: { address: '127.0.0.1:1', weightBytes: 1, kvBytes: 2, computeBytes: 3 } });
    await new Promise((resolve) => setTimeout(resolve, 2500));
  };
  const loaded = client.runStage(order, undefined, 2000);
  await loaded.next();
  expect(await loaded.next()).toEqual({ done: true, value: undefined });
});

test('another member at the address is a WrongPeer, a lost one a LinkLost', async () => {
  const wrong = new MemberClient({ address: server.address, member: asking.id, tls: asking.tls });
  await expect(wrong.hello({ wireVersion: 1, build: 'b' })).rejects.toBeInstanceOf(WrongPeer);
  wrong.close();

  handlers.runStage = async (_stage, { emit, signal }) => {
    emit({ progress: { phase: 'loading', fraction: 0, doneBytes: 0, totalBytes: 0 } });
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  };
  const events = client.runStage(order);
  await events.next();
  const next = events.next();
  const lost = expect(next).rejects.toBeInstanceOf(LinkLost);
  await server.close();
  await lost;
});
