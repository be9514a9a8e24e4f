import fc from 'fast-check';
import { expect, test } from 'vitest';
import { announcedAddresses, decodeAnnouncement, encodeAnnouncement, MAX_ANNOUNCED_ADDRESSES } from './announcement.ts';

const announcement = {
  pool: 'ab'.repeat(32),
  build: 'f'.repeat(40),
  port: 4711,
  run: '0123456789abcdef',
  edition: 3,
  addresses: [
    { host: '192.168.1.7', medium: 'wired' },
    { host: 'fd00::7', medium: 'wireless' },
  ],
} as const;

test('what is announced is what is read, and nothing else is in it', () => {
  const text = encodeAnnouncement(announcement);
  expect(text).toEqual({
    v: '1',
    pool: announcement.pool,
    build: announcement.build,
    port: '4711',
    run: '0123456789abcdef',
    edition: '3',
    a0: 'e,192.168.1.7',
    a1: 'w,fd00::7',
  });
  expect(decodeAnnouncement(text)).toEqual(announcement);
});

test('what is not ours is not read; addresses that are none are left out', () => {
  const text = encodeAnnouncement(announcement);
  for (const wrong of [
    undefined,
    null,
    'x',
    {},
    { ...text, v: '2' },
    { ...text, port: '0' },
    { ...text, port: '1e9' },
  ]) {
    expect(decodeAnnouncement(wrong)).toBeNull();
  }
  expect(decodeAnnouncement({ ...text, pool: 'a b' })).toBeNull();
  expect(decodeAnnouncement({ ...text, run: undefined })).toBeNull();
  const odd = { ...text, a0: 'e,example.org', a1: 'x,10.0.0.1', a2: 'w,fe80::1%eth0', a3: 'u,10.0.0.3', a4: 'e' };
  expect(decodeAnnouncement(odd)?.addresses).toEqual([{ host: '10.0.0.3', medium: 'unknown' }]);
});

test('any text is read or refused, never more', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.constant(undefined))), (text) => {
      const read = decodeAnnouncement({ ...encodeAnnouncement(announcement), ...text });
      if (read !== null) expect(read.addresses.length).toBeLessThanOrEqual(MAX_ANNOUNCED_ADDRESSES);
    }),
  );
});

test('addresses that mean nothing elsewhere are not announced', () => {
  const card = {
    name: 'eth0',
    medium: 'wired',
    zone: 'eth0',
    addresses: ['10.0.0.1', 'fe80::1', '169.254.1.1', 'fd00::1'].map((host) => ({ host, cidr: `${host}/24` })),
  } as const;
  expect(announcedAddresses([card]).map(({ host }) => host)).toEqual(['10.0.0.1', '169.254.1.1', 'fd00::1']);
  expect(announcedAddresses(Array(9).fill(card))).toHaveLength(MAX_ANNOUNCED_ADDRESSES);
});
