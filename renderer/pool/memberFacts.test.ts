import { expect, test } from 'vitest';
import { member, pipeline, servingStage } from '../../electron/gateway/testing/memberFixtures.ts';
import { secondAdmin, servedBytes, stateOf } from './memberFacts.ts';

const attic = member('attic');

test.each([
  [{}, 'ready', null],
  [{ state: 'lost', paused: ['owner'] }, 'lost', 'Wake it'],
  [{ state: 'suspect' }, 'silent', 'moment'],
  [{ reject: { kind: 'BuildMismatch', expected: 'aaa', found: 'bbb' } }, 'left out', 'llama.cpp bbb'],
  [{ reject: { kind: 'WireMismatch', expected: 3, found: 2 } }, 'left out', 'version 2'],
  [{ paused: ['battery', 'heat'] }, 'paused', 'it runs on its battery and it is hot'],
  [{ paused: ['owner'], self: true }, 'paused', 'you paused it'],
  [{ paused: ['battery'], self: true }, 'paused', 'it runs on its battery'],
] as const)('%j is %s', (changes, text, reason) => {
  const state = stateOf({ ...attic, ...changes, paused: [...('paused' in changes ? changes.paused : [])] });
  expect(state.text).toBe(text);
  if (reason === null) expect(state.reason).toBeNull();
  else expect(state.reason).toContain(reason);
});

test('the bytes of all stages of a member are added up', () => {
  const stage = (name: string, bytes: number) => servingStage(name, 0, 1, bytes, 1, bytes - 2);
  const pipelines = [
    pipeline({ placement: [stage('desk', 3), stage('lap', 5)] }),
    pipeline({ placement: [stage('desk', 4)] }),
    pipeline({ state: 'failed', placement: [stage('desk', 100)] }),
  ];
  expect(servedBytes('desk', pipelines)).toEqual({ weights: 3, kv: 2, buffers: 2 });
});

test('the only admin of a pool is asked for a second one, of those that are there', () => {
  const own = member('desk', { admin: true });
  const lost = member('b', { state: 'lost' });
  const there = member('c');
  expect(secondAdmin([own, lost, there])).toBe(there);
  expect(secondAdmin([own])).toBeNull();
  expect(secondAdmin([own, lost])).toBeNull();
  expect(secondAdmin([own, { ...lost, admin: true }, there])).toBeNull();
  expect(secondAdmin([member('desk'), { ...there, admin: true }])).toBeNull();
});
