import { networkInterfaces } from 'node:os';
import { connect } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type FollowOptions, followRing } from '../../electron/wire/followRing.ts';
import { ActivationFormat, RunEmbed, type StepFrame } from '../../electron/wire/generated/roomful/v1/ring.ts';
import type { RingLink } from '../../electron/wire/ringLink.ts';
import type { RingOutlet } from '../../electron/wire/ringOutlet.ts';
import { type RingPlace, RingServer } from '../../electron/wire/ringServer.ts';
import { ListenFailed } from '../../electron/wire/secureListener.ts';
import {
  CallCancelled,
  CallRefused,
  DeadlineExceeded,
  LinkLost,
  PeerUnreachable,
  WrongPeer,
} from '../../electron/wire/wireError.ts';
import { WireServer } from '../../electron/wire/wireServer.ts';
import { stepFrame } from '../testing/stepFrame.ts';
import { type TestMember, TestPool } from '../testing/testPool.ts';

let pool: TestPool;
let sender: TestMember;
let follower: TestMember;
let ring: RingServer;
let server: WireServer;
const opened: { close(): unknown }[] = [];

const epoch = { counter: 3, coordinator: 'b' };

beforeAll(async () => {
  pool = await TestPool.create();
  sender = await pool.member();
  follower = await pool.member();
  await serve();
});

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

afterAll(async () => {
  await server.close();
  await pool.remove();
});

async function serve(): Promise<void> {
  ring = new RingServer();
  server = await WireServer.start({ tls: sender.tls, host: '127.0.0.1', port: 0, services: [ring.service] });
}

function open(place: Partial<RingPlace> = {}, onLost?: (error: LinkLost) => void): RingOutlet {
  const outlet = ring.open({ pipeline: 'p', epoch, position: 1, follower: follower.id, ...place }, onLost);
  opened.push(outlet);
  return outlet;
}

async function follow(changes: Partial<FollowOptions> = {}): Promise<RingLink> {
  const { address } = server;
  const link = await followRing({
    address,
    member: sender.id,
    tls: follower.tls,
    pipeline: 'p',
    epoch,
    position: 1,
    ...changes,
  });
  opened.push(link);
  return link;
}

async function collect(link: AsyncIterable<StepFrame>): Promise<StepFrame[]> {
  const frames: StepFrame[] = [];
  for await (const frame of link) frames.push(frame);
  return frames;
}

const refused = (reason: string) => expect.objectContaining({ name: 'CallRefused', reason });

test('frames arrive whole and in order, those that were sent before the follower came too, then the goodbye', async () => {
  const outlet = open();
  const sent = Array.from({ length: 100 }, (_, step) =>
    stepFrame({
      step,
      format: ActivationFormat.ACTIVATION_FORMAT_F16,
      activations: new Uint8Array(step * 7).fill(step),
      runs: [
        {
          slot: 1,
          generation: 2,
          start: step,
          tokens: [step, 5],
          sampling: undefined,
          sample: false,
          drafts: 0,
          embed: RunEmbed.RUN_EMBED_NONE,
          copyFrom: undefined,
        },
      ],
    }),
  );
  for (const frame of sent.slice(0, 10)) await outlet.send(frame);
  const link = await follow();
  for (const frame of sent.slice(10)) await outlet.send(frame);
  const received = collect(link);
  await outlet.close();
  const frames = await received;
  expect(frames.map(({ step }) => step)).toEqual(sent.map(({ step }) => step));
  for (const [index, frame] of frames.entries()) {
    expect(Buffer.compare(frame.activations, sent[index]?.activations ?? Buffer.alloc(1))).toBe(0);
    expect(frame.runs).toMatchObject(sent[index]?.runs ?? []);
  }
});

test('a prefill chunk of 33 MB passes', async () => {
  const outlet = open();
  const link = await follow();
  const activations = Buffer.alloc(33 * 1024 * 1024, 'roomful');
  await outlet.send(stepFrame({ activations, format: ActivationFormat.ACTIVATION_FORMAT_F32 }));
  const { value } = await link.next();
  expect(value.activations.length).toBe(activations.length);
  expect(activations.equals(value.activations)).toBe(true);
});

test.each([
  ['WrongPipeline', { pipeline: 'other' }],
  ['WrongPosition', { position: 2 }],
  ['StaleEpoch', { epoch: { counter: 2, coordinator: 'z' } }],
  ['StaleEpoch', { epoch: { counter: 3, coordinator: 'a' } }],
  ['UnknownEpoch', { epoch: { counter: 4, coordinator: 'a' } }],
])('a follower is told %s', async (reason, changes) => {
  open();
  await expect(follow(changes)).rejects.toEqual(refused(reason));
});

test('another member of the pool is told that it has no place', async () => {
  const stranger = await pool.member();
  open();
  await expect(follow({ tls: stranger.tls })).rejects.toEqual(refused('WrongMember'));
});

test('a second follower of one place is refused, and the first keeps its link', async () => {
  const outlet = open();
  const link = await follow();
  await expect(follow()).rejects.toEqual(refused('PlaceTaken'));
  await outlet.send(stepFrame({ step: 9 }));
  expect((await link.next()).value.step).toBe(9);
});

test('a place of a newer epoch cuts the follower of the older one; an older order is refused', async () => {
  open();
  const link = await follow();
  open({ epoch: { counter: 4, coordinator: 'a' } });
  await expect(link.next()).rejects.toBeInstanceOf(LinkLost);
  expect(() => open()).toThrow(CallRefused);
});

test('a certificate of another pool is refused on both sides', async () => {
  const other = await TestPool.create();
  try {
    const foreigner = await other.member();
    open();
    await expect(follow({ tls: foreigner.tls })).rejects.toBeInstanceOf(PeerUnreachable);
    const foreignCertificate = { ca: sender.tls.ca, cert: foreigner.tls.cert, key: foreigner.tls.key };
    await expect(follow({ tls: foreignCertificate })).rejects.toBeInstanceOf(PeerUnreachable);
    const link = await follow();
    link.close();
  } finally {
    await other.remove();
  }
});

test('a client without a certificate, or with TLS 1.2, gets no session', async () => {
  const port = Number(server.address.split(':')[1]);
  const { ca, cert, key } = follower.tls;
  const outcome = (options: object): Promise<string> =>
    new Promise((resolve) => {
      const base = { port, host: '127.0.0.1', ca, ALPNProtocols: ['h2'], checkServerIdentity: () => undefined };
      const socket = connect({ ...base, ...options });
      // A server settings frame is the proof that the server has taken the client.
      socket.on('data', () => {
        resolve('accepted');
        socket.destroy();
      });
      socket.on('error', () => resolve('refused'));
      socket.on('close', () => resolve('refused'));
    });
  expect(await outcome({ cert, key })).toBe('accepted');
  expect(await outcome({})).toBe('refused');
  expect(await outcome({ cert, key, maxVersion: 'TLSv1.2' })).toBe('refused');
});

test('an address that belongs to another member is a WrongPeer', async () => {
  open();
  const error = await follow({ member: follower.id }).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(WrongPeer);
  expect(error).toMatchObject({ expected: follower.id, found: sender.id });
});

test('nobody at the address is a PeerUnreachable that keeps its cause', async () => {
  const gone = await WireServer.start({ tls: sender.tls, host: '127.0.0.1', port: 0, services: [] });
  await gone.close();
  const error = await follow({ address: gone.address }).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(PeerUnreachable);
  expect(error).toHaveProperty('cause.code');
});

test('a process that accepts the connection but never answers runs into the deadline', async () => {
  const { createServer } = await import('node:net');
  const mute = createServer(() => {}).listen(0, '127.0.0.1');
  opened.push(mute);
  await new Promise((resolve) => mute.once('listening', resolve));
  const bound = mute.address();
  if (bound === null || typeof bound === 'string') throw new Error('no port');
  const error = await follow({ address: `127.0.0.1:${bound.port}`, connectTimeoutMs: 300 }).catch(
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(DeadlineExceeded);
});

test('an abort ends the attempt or the link, and the sender is told', async () => {
  const aborted = new AbortController();
  aborted.abort();
  await expect(follow({ signal: aborted.signal })).rejects.toBeInstanceOf(CallCancelled);

  const lost = deferred<LinkLost>();
  const outlet = open({}, lost.resolve);
  const controller = new AbortController();
  const link = await follow({ signal: controller.signal });
  controller.abort();
  expect(await link.next()).toEqual({ done: true, value: undefined });
  expect(await lost.promise).toBeInstanceOf(LinkLost);
  await expect(outlet.send(stepFrame())).rejects.toBeInstanceOf(LinkLost);
});

test('a server that is gone without a goodbye is a LinkLost for the follower', async () => {
  const dying = await WireServer.start({ tls: sender.tls, host: '127.0.0.1', port: 0, services: [ring.service] });
  open();
  const link = await follow({ address: dying.address });
  await dying.close();
  await expect(link.next()).rejects.toBeInstanceOf(LinkLost);
});

test('a follower that does not read holds the sender back, and memory stays bounded', async () => {
  const outlet = open();
  const link = await follow();
  await outlet.send(stepFrame({ step: 0 }));
  await link.next();
  const megabyte = 1024 * 1024;
  let sent = 0;
  const sending = (async () => {
    for (let step = 1; step <= 400; step += 1) {
      await outlet.send(stepFrame({ step, activations: Buffer.alloc(megabyte) }));
      sent = step;
    }
  })();
  await settled(() => sent);
  // 32 MiB of outbox, 8 MiB of window, 8 + 16 frames at the follower, what the sockets hold.
  expect(sent).toBeLessThan(100);
  let last = 0;
  for await (const { step } of link) {
    expect(step).toBe(last + 1);
    last = step;
    if (step === 400) break;
  }
  await sending;
});

test('a sender that does not wait for a follower that does not read loses the link', async () => {
  const lost = deferred<LinkLost>();
  const outlet = open({}, lost.resolve);
  await follow();
  const sends = Array.from({ length: 200 }, (_, step) =>
    outlet.send(stepFrame({ step, activations: Buffer.alloc(1024 * 1024) })),
  );
  const results = await Promise.allSettled(sends);
  expect(results.some(({ status }) => status === 'rejected')).toBe(true);
  expect((await lost.promise).message).toContain('does not keep up');
});

const hasIpv6 = Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === '::1'));

test.runIf(hasIpv6)('a link over IPv6 is as good', async () => {
  const six = await WireServer.start({ tls: sender.tls, host: '::1', port: 0, services: [ring.service] });
  expect(six.address).toMatch(/^\[::1\]:\d+$/);
  const outlet = open();
  const link = await follow({ address: six.address });
  await outlet.send(stepFrame({ step: 3 }));
  expect((await link.next()).value.step).toBe(3);
  await outlet.close();
  await six.close();
});

test('a port that is taken is a ListenFailed', async () => {
  const port = Number(server.address.split(':')[1]);
  const second = WireServer.start({ tls: sender.tls, host: '127.0.0.1', port, services: [] });
  await expect(second).rejects.toBeInstanceOf(ListenFailed);
});

function deferred<T>(): { promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Waits until a value has stopped changing. */
async function settled(value: () => number): Promise<void> {
  for (let before = -1, still = 0; still < 5; ) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    still = value() === before ? still + 1 : 0;
    before = value();
  }
}
