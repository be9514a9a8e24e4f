import { randomBytes } from 'node:crypto';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type FollowOptions, followRing } from '../../electron/wire/followRing.ts';
import { MemberClient } from '../../electron/wire/memberClient.ts';
import { memberService } from '../../electron/wire/memberService.ts';
import { RingServer } from '../../electron/wire/ringServer.ts';
import { CallRefused, PeerUnreachable } from '../../electron/wire/wireError.ts';
import { WireServer } from '../../electron/wire/wireServer.ts';
import { eventually } from '../testing/eventually.ts';
import { flood, residentBytes } from '../testing/flood.ts';
import { stageOrder } from '../testing/stageOrder.ts';
import { type TestMember, TestPool } from '../testing/testPool.ts';

const MIB = 2 ** 20;
const hello = { wireVersion: 1, build: 'b' };
let pool: TestPool;
let foreign: TestPool;
let asked: TestMember;
let asking: TestMember;
let admitted: Set<string>;
let refused: (string | null)[];
let server: WireServer;
let ring: RingServer;
let client: MemberClient;

const clientOf = (member: TestMember): MemberClient =>
  new MemberClient({ address: server.address, member: asked.id, tls: member.tls });

beforeAll(async () => {
  pool = await TestPool.create();
  foreign = await TestPool.create();
  asked = await pool.member();
  asking = await pool.member();
});

beforeEach(async () => {
  admitted = new Set([asking.id]);
  refused = [];
  ring = new RingServer();
  const service = memberService({
    self: () => asked.id,
    hello: async () => ({ ...hello, member: asked.id, name: 'n', shareBytes: 1, backend: 'cpu' }),
    runStage: (_order, { emit, signal }) => {
      emit({ progress: { phase: 'loading', fraction: 0.5, doneBytes: 0, totalBytes: 0 } });
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    },
    linkStage: async () => {},
  });
  server = await WireServer.start({
    tls: asked.tls,
    host: '127.0.0.1',
    port: 0,
    services: [service, ring.service],
    admits: (member) => admitted.has(member),
    onRefused: (member) => refused.push(member),
  });
  client = clientOf(asking);
});

afterEach(async () => {
  client.close();
  await server.close();
});

afterAll(async () => {
  await Promise.all([pool.remove(), foreign.remove()]);
});

test('a certificate of the pool is not enough: who is not admitted is told so, and admitted without a new start', async () => {
  const late = await pool.member();
  const other = clientOf(late);
  await expect(other.hello(hello)).rejects.toMatchObject({ name: 'CallRefused', reason: 'NotAdmitted' });
  expect(refused).toEqual([late.id]);
  admitted.add(late.id);
  expect(await other.hello(hello)).toMatchObject({ member: asked.id });
  other.close();
});

test('who holds a certificate and is not admitted gets few connections at a time', async () => {
  const late = await pool.member();
  const tls = { ...late.tls, ALPNProtocols: ['h2'], checkServerIdentity: () => undefined };
  const sessions = Array.from({ length: 40 }, () => connectHttp2(`https://${server.address}`, tls));
  const settled = sessions.map((session) => {
    session.on('error', () => {});
    return new Promise((resolve) => session.once('remoteSettings', resolve).once('close', resolve));
  });
  await Promise.all(settled);
  await eventually(() => expect(sessions.filter(({ destroyed }) => !destroyed).length).toBeLessThanOrEqual(32));
  expect(await client.hello(hello)).toMatchObject({ member: asked.id });
  for (const session of sessions) session.destroy();
});

test('a certificate of another pool, and none at all, never reach a call', async () => {
  const stranger = await foreign.member();
  const other = new MemberClient({
    address: server.address,
    member: asked.id,
    tls: { ...stranger.tls, ca: asked.tls.ca },
  });
  await expect(other.hello(hello)).rejects.toBeInstanceOf(PeerUnreachable);
  other.close();
  const { port } = new URL(`tcp://${server.address}`);
  const bare = connectTls({ port: Number(port), host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  bare.on('error', () => {});
  await new Promise((resolve) => bare.once('close', resolve));
  await eventually(() => expect(refused.length).toBeGreaterThanOrEqual(2));
  expect(new Set(refused)).toEqual(new Set([null]));
});

test('dropping a member ends its running calls and links at once, and its later calls are refused', async () => {
  const place = { pipeline: 'p', epoch: { counter: 1, coordinator: asked.id }, position: 0 };
  const lost: string[] = [];
  ring.open({ ...place, follower: asking.id }, () => lost.push('follower'));
  const follow: FollowOptions = { address: server.address, member: asked.id, tls: asking.tls, ...place };
  const link = await followRing(follow);
  const frames = link[Symbol.asyncIterator]().next();
  const events = client.runStage(stageOrder({ epoch: { counter: 1, coordinator: asking.id } }));
  await events.next();
  const next = events.next();

  admitted.delete(asking.id);
  server.drop(asking.id);
  const removed = { name: 'CallRefused', reason: 'NotAdmitted' };
  await Promise.all([expect(next).rejects.toMatchObject(removed), expect(frames).rejects.toMatchObject(removed)]);
  await eventually(() => expect(lost).toEqual(['follower']));
  await expect(client.hello(hello)).rejects.toBeInstanceOf(CallRefused);
});

test('new certificates are shown without a new start, and calls that run go on', async () => {
  const running = client.runStage(stageOrder({ epoch: { counter: 1, coordinator: asking.id } }));
  await running.next();
  const elsewhere = await foreign.member();
  server.setTls({ ...elsewhere.tls });
  const newcomer = await foreign.member();
  const other = new MemberClient({ address: server.address, member: elsewhere.id, tls: newcomer.tls });
  admitted.add(newcomer.id);
  expect(await other.hello(hello)).toMatchObject({ member: asked.id });
  expect(await client.hello(hello)).toMatchObject({ member: asked.id });
  other.close();
  await running.return();
});

test('10,000 connections with garbage, and 10,000 half-open ones: members are still served, and memory stays flat', async () => {
  const garbage = randomBytes(300);
  const throwGarbage = (count: number) => flood(server.address, count, (socket) => socket.end(garbage));
  // A client hello that never goes on: the record promises more bytes than come.
  const holdOpen = (count: number) =>
    flood(server.address, count, (socket, index) => index % 2 === 0 && socket.write('\x16\x03\x01\x02\x00\x01'), true);
  const close = (sockets: { destroy(): void }[]): void => {
    for (const socket of sockets) socket.destroy();
  };
  await throwGarbage(1000);
  close(await holdOpen(1000));
  const before = residentBytes();

  await throwGarbage(10_000);
  for (let round = 0; round < 5; round++) {
    const held = await holdOpen(2000);
    const other = clientOf(asking);
    expect(await other.hello(hello, 30_000)).toMatchObject({ member: asked.id });
    other.close();
    close(held);
  }
  expect(await client.hello(hello)).toMatchObject({ member: asked.id });
  expect(refused.length).toBeGreaterThan(10_000);
  expect((residentBytes() - before) / MIB).toBeLessThan(64);
}, 180_000);
