import { afterEach, beforeEach, expect, test } from 'vitest';
import type { MeasuredWay } from '../../electron/pool/profile/measuredWay.ts';
import type { Profile } from '../../electron/pool/profile/profile.ts';
import { parseProfile, parseWays, profileMessage } from '../../electron/pool/profile/profileMessage.ts';
import { clientOptions } from '../../electron/wire/channelOptions.ts';
import { type ProbeReply, ProfilesClient } from '../../electron/wire/generated/roomful/v1/profile.ts';
import { PeerCalls } from '../../electron/wire/peerCalls.ts';
import { probePeer } from '../../electron/wire/probePeer.ts';
import { MAX_PROBE_BYTES, MAX_PROBE_REQUEST_BYTES, ProfileServer } from '../../electron/wire/profileServer.ts';
import { watchProfile } from '../../electron/wire/watchProfile.ts';
import { CallRefused, PeerUnreachable, WireError, WrongPeer } from '../../electron/wire/wireError.ts';
import { WireServer } from '../../electron/wire/wireServer.ts';
import { DelayRelay } from '../bench/delayRelay.ts';
import { type TestMember, TestPool } from '../testing/testPool.ts';

let pool: TestPool;
let asked: TestMember;
let asking: TestMember;
let server: WireServer;
let profiles: ProfileServer;
let profile: Profile;
let ways: MeasuredWay[];
let listeners: Set<() => void>;

beforeEach(async () => {
  pool = await TestPool.create();
  [asked, asking] = await Promise.all([pool.member(), pool.member()]);
  listeners = new Set();
  ways = [{ member: 'cyd', rttMs: 0.4, bytesPerSecond: 1e8 }];
  profile = {
    backend: 'Cuda',
    deviceClass: 'gpu',
    memoryBytes: 2 ** 40,
    hostMemoryBytes: 0,
    bandwidth: 1e12,
    hostBandwidth: null,
    devices: [
      {
        name: 'CUDA0',
        description: 'a card',
        backend: 'Cuda',
        pciAddress: '0000:01:00.0',
        deviceClass: 'gpu',
        totalBytes: 2 ** 40,
        freeBytes: 0,
        shares: true,
        bandwidth: null,
      },
    ],
    paused: [],
  };
  profiles = new ProfileServer({
    current: () => profileMessage(profile, ways),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  });
  server = await WireServer.start({ tls: asked.tls, host: '127.0.0.1', port: 0, services: [profiles.service] });
});

afterEach(async () => {
  profiles.close();
  await server.close();
  await pool.remove();
});

const peer = () => ({ address: server.address, member: asked.id, tls: asking.tls });
function change(next: Partial<Profile>): void {
  profile = { ...profile, ...next };
  for (const listener of listeners) listener();
}

test('a profile is told at once, after every change, and no more to one who has left', async () => {
  const watching = watchProfile(peer());
  const next = async () => {
    const { value } = await watching.next();
    if (value) expect(parseWays(value)).toEqual(ways);
    return value && parseProfile(value);
  };
  expect(await next()).toEqual(profile);
  change({ paused: ['battery', 'gpu'], memoryBytes: 1 });
  expect(await next()).toEqual(profile);
  // Of several changes in a row the last is never missed.
  for (let memoryBytes = 2; memoryBytes <= 50; memoryBytes += 1) change({ memoryBytes });
  while ((await next())?.memoryBytes !== 50);
  await watching.return();
  while (listeners.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
});

test('who watches is told when the member closes', async () => {
  const watching = watchProfile(peer());
  await watching.next();
  profiles.close();
  expect(await watching.next()).toEqual({ done: true, value: undefined });
  expect(listeners.size).toBe(0);
});

test('giving up ends a watch, another member is told apart', async () => {
  const abort = new AbortController();
  const watching = watchProfile(peer(), abort.signal);
  await watching.next();
  abort.abort();
  await expect(watching.next()).rejects.toMatchObject({ name: 'CallCancelled' });
  await expect(watchProfile({ ...peer(), member: asking.id }).next()).rejects.toBeInstanceOf(WrongPeer);
});

test('a profile that cannot be read is a WireError that names the field', () => {
  expect(() => parseProfile({ ...profileMessage(profile, ways), backend: 'Abacus' })).toThrow(/backend/);
  expect(() => parseProfile({ ...profileMessage(profile, ways), memoryBytes: 0 })).toThrow(WireError);
  const message = profileMessage(profile, [{ member: 'cyd', rttMs: -1, bytesPerSecond: 1 }]);
  expect(() => parseWays(message)).toThrow(/0\.rttMs/);
});

test('the way to a member is measured, and a longer one is longer', async () => {
  const near = await probePeer(peer());
  expect(near.rttMs).toBeGreaterThan(0);
  expect(near.bytesPerSecond).toBeGreaterThan(0);
  const relay = new DelayRelay();
  relay.oneWayMs = 15;
  try {
    const far = await probePeer({ ...peer(), address: await relay.route(server.address) });
    expect(far.rttMs).toBeGreaterThanOrEqual(30);
    expect(far.bytesPerSecond).toBeGreaterThan(0);
  } finally {
    await relay.close();
  }
});

/** An open probe by hand. */
function openProbe() {
  const calls = new PeerCalls(peer());
  const client = new ProfilesClient(server.address, calls.credentials, clientOptions);
  const call = client.probe();
  const replies = (call as AsyncIterable<ProbeReply>)[Symbol.asyncIterator]();
  const ask = async (bytes: number): Promise<number> => {
    call.write({ bytes });
    let came = 0;
    for (;;) {
      const { value, done } = await replies.next().catch((error: unknown) => {
        throw calls.errorOf(error, { what: 'Probing', up: true, timeoutMs: 0 });
      });
      if (done) throw new Error('ended');
      came += value.payload.length;
      if (value.last) return came;
    }
  };
  const close = (): void => {
    call.cancel();
    client.close();
  };
  return { ask, close };
}

test('a probe gets what it asks for, up to a limit', async () => {
  const probe = openProbe();
  expect(await probe.ask(0)).toBe(0);
  expect(await probe.ask(100_000)).toBe(100_000);
  expect(await probe.ask(MAX_PROBE_REQUEST_BYTES)).toBe(MAX_PROBE_REQUEST_BYTES);
  await expect(probe.ask(MAX_PROBE_REQUEST_BYTES)).rejects.toMatchObject({ reason: 'BadRequest' });
  probe.close();
  const greedy = openProbe();
  await expect(greedy.ask(MAX_PROBE_BYTES + 1)).rejects.toBeInstanceOf(CallRefused);
  greedy.close();
});

test('a member probes once at a time, and again when it has finished', async () => {
  const first = openProbe();
  await first.ask(0);
  await expect(probePeer(peer())).rejects.toMatchObject({ reason: 'PlaceTaken' });
  first.close();
  for (;;) {
    const done = await probePeer(peer()).catch((error: unknown) => error);
    if (!(done instanceof CallRefused)) break;
  }
  expect((await probePeer(peer())).rttMs).toBeGreaterThan(0);
});

test('a member that is not there, or is given up, is a WireError', async () => {
  await expect(probePeer({ ...peer(), address: '127.0.0.1:1' })).rejects.toBeInstanceOf(PeerUnreachable);
  const abort = new AbortController();
  abort.abort();
  await expect(probePeer(peer(), abort.signal)).rejects.toMatchObject({ name: 'CallCancelled' });
});
