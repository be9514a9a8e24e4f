import { expect, test } from 'vitest';
import { Heartbeat } from '../wire/generated/roomful/v1/heartbeat.ts';
import { encodeBeat, parseBeat } from './heartbeatCodec.ts';
import type { Beat } from './membershipEvents.ts';

const record = {
  member: 'm',
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
const beat: Beat = { epoch: { counter: 5, coordinator: 'm' }, news: [{ record, silentMs: 12 }] };

test('a beat survives the wire, with and without an epoch', () => {
  for (const sent of [beat, { ...beat, epoch: null }]) {
    expect(parseBeat(Heartbeat.decode(Heartbeat.encode(encodeBeat(sent)).finish()))).toEqual(sent);
  }
});

test.each([
  ['no record', { ...encodeBeat(beat), news: [{ record: undefined, silentMs: 0 }] }],
  ['no card', { ...encodeBeat(beat), news: [{ record: { ...record, card: undefined }, silentMs: 0 }] }],
  ['an epoch that nobody could follow', { ...encodeBeat(beat), epoch: { counter: 2 ** 53 - 1, coordinator: 'm' } }],
  [
    'an incarnation that nobody could outbid',
    encodeBeat({ ...beat, news: [{ record: { ...record, incarnation: 2 ** 53 - 1 }, silentMs: 0 }] }),
  ],
  [
    'a name without end',
    encodeBeat({
      ...beat,
      news: [{ record: { ...record, card: { ...record.card, name: 'n'.repeat(1000) } }, silentMs: 0 }],
    }),
  ],
])('a heartbeat with %s is none', (_what, heartbeat) => {
  expect(parseBeat(heartbeat)).toBeNull();
});
