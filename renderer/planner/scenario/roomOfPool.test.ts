import { expect, test } from 'vitest';
import type { PoolMemberDetail } from '../../../electron/gateway/memberApi.ts';
import { member as poolMember } from '../../../electron/gateway/testing/memberFixtures.ts';
import { answerTo } from './answer.ts';
import { roomOfPool } from './roomOfPool.ts';
import { exampleScenario } from './scenario.ts';

const member = (id: string, changes: Partial<PoolMemberDetail> = {}): PoolMemberDetail =>
  poolMember(id, { name: `name of ${id}`, self: false, shareBytes: 24e9, build: 'c1', ...changes });
const card = {
  name: 'CUDA0',
  description: 'A card',
  backend: 'CUDA',
  pciAddress: null,
  deviceClass: 'gpu',
  totalBytes: 24e9,
  freeBytes: 24e9,
  shares: true,
  bandwidth: 900e9,
} as const;

test('devices, links and states of the pool become a room', () => {
  const room = roomOfPool([
    member('a', { self: true, devices: [card] }),
    member('b', { leads: true, link: { rttMs: 3, bytesPerSecond: 1e8, measuredAt: 0 } }),
    member('c', { state: 'lost' }),
    member('d', { paused: ['owner'], shareBytes: 0 }),
    member('e', { state: 'left' }),
  ]);
  expect(room.members.map(({ id, included, backend, bandwidth }) => [id, included, backend, bandwidth])).toEqual([
    ['a', true, 'Cuda', 900e9],
    ['b', true, 'Cpu', null],
    ['c', false, 'Cpu', null],
    ['d', false, 'Cpu', null],
  ]);
  expect(room.links).toContainEqual({ from: 'b', to: 'a', rttMs: 3, bytesPerSecond: 1e8 });
  const question = { ...exampleScenario().question, ...room };
  expect(answerTo(question).plan?.coordinator).toBe('b');
  const [a, b, ...others] = room.members;
  if (a === undefined || b === undefined) throw new Error('The room is empty.');
  expect(answerTo({ ...question, members: [a, { ...b, included: false }, ...others] }).plan?.coordinator).toBe('a');
});
