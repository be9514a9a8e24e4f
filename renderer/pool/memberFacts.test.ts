import { expect, test } from 'vitest';
import type { PoolMemberDetail } from '../../electron/gateway/memberApi.ts';
import { secondAdmin, servedBytes, stateOf } from './memberFacts.ts';

const member: PoolMemberDetail = {
  id: 'a',
  name: 'desk',
  state: 'alive',
  self: false,
  address: null,
  shareBytes: 1,
  devices: [],
  build: null,
  reject: null,
  admin: false,
  leads: false,
  pinned: false,
  paused: [],
  link: null,
};

test.each([
  [{}, 'ready', null],
  [{ state: 'lost', paused: ['owner'] }, 'lost', 'Wake it'],
  [{ state: 'suspect' }, 'silent', 'moment'],
  [{ reject: { kind: 'BuildMismatch', expected: 'aaa', found: 'bbb' } }, 'left out', 'llama.cpp bbb'],
  [{ reject: { kind: 'WireMismatch', expected: 3, found: 2 } }, 'left out', 'version 2'],
  [{ paused: ['battery', 'heat'] }, 'paused', 'it runs on its battery and it is hot'],
  [{ paused: ['owner'], self: true }, 'paused', 'you paused it'],
] as const)('%j is %s', (changes, text, reason) => {
  const state = stateOf({ ...member, ...changes, paused: [...('paused' in changes ? changes.paused : [])] });
  expect(state.text).toBe(text);
  if (reason === null) expect(state.reason).toBeNull();
  else expect(state.reason).toContain(reason);
});

test('the bytes of all stages of a member are added up', () => {
  const stage = (name: string, bytes: number) => ({ member: name, startLayer: 0, endLayer: 1, bytes, kvBytes: 1 });
  const pipeline = {
    id: 'p',
    modelId: 'm',
    aliases: [],
    state: 'serving' as const,
    fraction: 0,
    reason: null,
    driver: { id: 'd', name: 'desk' },
    contextLength: 4096,
    hops: 0,
    lastTokensPerSecond: null,
    figures: null,
  };
  const pipelines = [
    { ...pipeline, placement: [stage('desk', 3), stage('lap', 5)] },
    { ...pipeline, placement: [stage('desk', 4)] },
    { ...pipeline, state: 'failed' as const, placement: [stage('desk', 100)] },
  ];
  expect(servedBytes('desk', pipelines)).toEqual({ weights: 5, kv: 2 });
});

test('the only admin of a pool is asked for a second one, of those that are there', () => {
  const own = { ...member, self: true, admin: true };
  const lost = { ...member, id: 'b', state: 'lost' } as const;
  const there = { ...member, id: 'c' };
  expect(secondAdmin([own, lost, there])).toBe(there);
  expect(secondAdmin([own])).toBeNull();
  expect(secondAdmin([own, lost])).toBeNull();
  expect(secondAdmin([own, { ...lost, admin: true }, there])).toBeNull();
  expect(
    secondAdmin([
      { ...member, self: true },
      { ...there, admin: true },
    ]),
  ).toBeNull();
});
