import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestMember, TestPool } from '../../e2e/testing/testPool.ts';
import { Heartbeat, PresenceRecord as Message } from '../wire/generated/roomful/v1/heartbeat.ts';
import { HeartbeatCodec } from './heartbeatCodec.ts';
import type { Beat } from './membershipEvents.ts';
import type { PresenceRecord } from './presenceRecord.ts';

let pool: TestPool;
let foreign: TestPool;
let member: TestMember;
let hostile: TestMember;
let codec: HeartbeatCodec;
let record: PresenceRecord;
let beat: Beat;

beforeAll(async () => {
  pool = await TestPool.create();
  foreign = await TestPool.create();
  member = await pool.member();
  hostile = await pool.member();
  codec = new HeartbeatCodec(member.tls);
  record = {
    member: member.id,
    incarnation: 3,
    run: 'r',
    sequence: 4,
    left: false,
    leads: 5,
    heartbeatPort: 6,
    card: {
      name: 'n',
      build: 'b',
      wireVersion: 1,
      shareBytes: 2 ** 45,
      pinned: true,
      abstains: false,
      multicast: true,
      hosts: ['10.0.0.1', 'fd00::1'],
      controlPort: 7,
      rosterVersion: 8,
    },
  };
  beat = { epoch: { counter: 5, coordinator: member.id }, news: [{ record, silentMs: 12 }] };
});

afterAll(async () => {
  await pool.remove();
  await foreign.remove();
});

const always = (): boolean => true;
const travel = (heartbeat: Heartbeat): Heartbeat => Heartbeat.decode(Heartbeat.encode(heartbeat).finish());

test('a beat survives the wire, with and without an epoch', () => {
  for (const sent of [beat, { ...beat, epoch: null }]) {
    expect(new HeartbeatCodec(hostile.tls).decode(travel(codec.encode(sent)), always)).toEqual(sent);
  }
});

test('what a member says of itself is handed on as it has signed it', () => {
  const between = new HeartbeatCodec(hostile.tls);
  const heard = between.decode(travel(codec.encode(beat)), always);
  if (typeof heard === 'string') throw new Error(heard);
  expect(codec.decode(travel(between.encode(heard)), always)).toEqual(beat);
});

test('what is no news is left out', () => {
  expect(codec.decode(codec.encode(beat), () => false)).toEqual({ ...beat, news: [] });
});

describe('a member is believed about nobody but itself', () => {
  const signedBy = (by: TestMember, forged: PresenceRecord): Heartbeat =>
    new HeartbeatCodec(by.tls).encode({ epoch: null, news: [{ record: forged, silentMs: 0 }] });

  test('a record that it signs in the name of another', () => {
    expect(codec.decode(travel(signedBy(hostile, { ...record, sequence: 2 ** 50 })), always)).toBe('forged');
  });

  test('a record of another that it alters', () => {
    const [news] = signedBy(member, record).news;
    const signed = news?.signed;
    if (signed === undefined) throw new Error('Nothing was signed.');
    const body = Message.encode({ ...Message.decode(signed.body), left: true, sequence: 2 ** 50 }).finish();
    const publicKey = signedBy(hostile, record).news[0]?.signed?.publicKey ?? Buffer.alloc(0);
    for (const forged of [
      { ...signed, body },
      { ...signed, publicKey },
      { ...signed, publicKey: Buffer.from('no key') },
      { ...signed, signature: Buffer.alloc(64) },
      { ...signed, signature: Buffer.alloc(0) },
    ]) {
      const heartbeat = { epoch: undefined, news: [{ signed: forged, silentMs: 0 }] };
      expect(codec.decode(travel(heartbeat), always)).toBe('forged');
    }
  });

  test('a record that another has signed for another pool', async () => {
    const elsewhere = { ...member, tls: { ...member.tls, ca: (await foreign.member()).tls.ca } };
    expect(codec.decode(signedBy(elsewhere, record), always)).toBe('forged');
  });
});

describe('a heartbeat is none', () => {
  const withRecord = (changed: PresenceRecord): Heartbeat =>
    codec.encode({ ...beat, news: [{ record: changed, silentMs: 0 }] });
  const withBody = (body: Uint8Array): Heartbeat => ({
    epoch: undefined,
    news: [{ signed: { body, publicKey: Buffer.alloc(0), signature: Buffer.alloc(0) }, silentMs: 0 }],
  });

  test.each<[string, () => Heartbeat]>([
    ['no record', () => ({ epoch: undefined, news: [{ signed: undefined, silentMs: 0 }] })],
    ['a record that cannot be read', () => withBody(Buffer.alloc(50, 255))],
    ['no card', () => withBody(Message.encode({ ...record, card: undefined }).finish())],
    [
      'an epoch that nobody could follow',
      () => ({ ...codec.encode(beat), epoch: { counter: 2 ** 53 - 1, coordinator: 'm' } }),
    ],
    ['an incarnation that nobody could outbid', () => withRecord({ ...record, incarnation: 2 ** 53 - 1 })],
    ['a name without end', () => withRecord({ ...record, card: { ...record.card, name: 'n'.repeat(1000) } })],
    [
      'news without end',
      () => codec.encode({ ...beat, news: Array.from({ length: 1001 }, () => ({ record, silentMs: 0 })) }),
    ],
  ])('with %s', (_what, made) => {
    expect(codec.decode(travel(made()), always)).toBe('unread');
  });
});
