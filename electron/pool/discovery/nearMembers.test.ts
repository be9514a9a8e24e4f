import { expect, test } from 'vitest';
import type { MemberPresence } from '../membershipView.ts';
import { nearMembers } from './nearMembers.ts';
import type { NetworkCard } from './networkCard.ts';

const eth0: NetworkCard = {
  name: 'eth0',
  medium: 'wired',
  zone: 'eth0',
  addresses: [{ host: '10.0.0.1', cidr: '10.0.0.1/24' }],
};
const card = {
  name: 'desk',
  build: 'b',
  wireVersion: 1,
  shareBytes: 1,
  pinned: false,
  abstains: false,
  multicast: true,
  hosts: ['10.0.0.2'],
  controlPort: 1,
  rosterVersion: 1,
};
const desk: MemberPresence = {
  id: 'a',
  self: false,
  state: 'alive',
  incarnation: 1,
  linked: true,
  host: '10.0.0.2',
  card,
};

test('a member on a shared subnet that looks by multicast should be found by it', () => {
  expect(nearMembers([desk], new Set(), [eth0])).toEqual([{ name: 'desk', found: false }]);
  expect(nearMembers([desk], new Set(['a']), [eth0])).toEqual([{ name: 'desk', found: true }]);
});

test.each<[string, Partial<MemberPresence>]>([
  ['this member itself', { self: true }],
  ['one that is lost', { state: 'lost' }],
  ['one that runs without multicast', { card: { ...card, multicast: false } }],
  ['one that is reached over a router', { host: '10.0.1.2' }],
  ['one that is heard of through others only', { host: null }],
  ['one that was never heard of', { card: null }],
])('%s says nothing about multicast', (_, change) => {
  expect(nearMembers([{ ...desk, ...change }], new Set(), [eth0])).toEqual([]);
});
