import { expect, test } from 'vitest';
import type { PoolMemberDetail, PoolState, ServingPipeline } from '../../electron/gateway/memberApi.ts';
import {
  member,
  memberState,
  pipeline as onTwo,
  poolState,
  servingStage,
} from '../../electron/gateway/testing/memberFixtures.ts';
import { pipelineNews, poolNews } from './news.ts';

/** On one machine. */
const pipeline = (changes: Partial<ServingPipeline> = {}) =>
  onTwo({ placement: [servingStage('desk', 0, 12, 1)], hops: 0, ...changes });
const state = memberState;
const pool = (...members: PoolMemberDetail[]): PoolState => poolState(members);
const texts = (lines: readonly { text: string }[]) => lines.map(({ text }) => text);

test('every step of a pipeline is told once, with the reason where it ended', () => {
  const steps = (['planning', 'loading', 'warming', 'serving'] as const).map((each) =>
    state(pipeline({ state: each })),
  );
  const told = steps.slice(1).flatMap((after, index) => pipelineNews(steps[index] ?? state(), after));
  expect(texts(told)).toEqual(['desk loads demo.', 'A first token travels through demo.', 'demo serves on desk.']);
  const failed = state(pipeline({ state: 'failed', reason: 'lap was lost.' }));
  expect(pipelineNews(state(pipeline()), failed)).toEqual([{ text: 'demo has ended: lap was lost.', tone: 'problem' }]);
  expect(pipelineNews(failed, state())).toEqual([]);
  expect(texts(pipelineNews(state(pipeline()), state()))).toEqual(['demo does not serve any more.']);
});

test('a new rate is no news', () => {
  expect(pipelineNews(state(pipeline()), state(pipeline({ lastTokensPerSecond: 5 })))).toEqual([]);
});

test('members come, get lost, return, pause and lead', () => {
  const before = pool(member('a', { leads: true }), member('b'), member('c'), member('d', { paused: ['heat'] }));
  const after = pool(
    member('a'),
    member('b', { state: 'lost' }),
    member('c', { paused: ['owner'], leads: true }),
    member('d'),
    member('e'),
  );
  expect(texts(poolNews(before, after))).toEqual([
    'b is lost: it does not answer any more.',
    'c pauses its sharing.',
    'd shares again.',
    'e has joined.',
    'c leads the pool now.',
  ]);
  expect(
    texts(poolNews(pool(member('b', { state: 'lost', build: 'b1' })), pool(member('b', { build: 'b1' })))),
  ).toEqual(['b is back.']);
  expect(texts(poolNews(pool(member('b', { state: 'left' })), pool(member('b'))))).toEqual(['b is back.']);
});

test('who was removed is told so, and who left is not', () => {
  const before = poolState([member('a')]);
  const after = poolState([member('a')], null);
  expect(texts(poolNews(before, after))).toEqual(['This machine is in no pool.']);
  const removed = { ...after, removed: { poolName: 'The room', atMs: 1 } };
  expect(texts(poolNews(before, removed))).toEqual(['This machine was removed from The room.']);
});

test('who joins does not come back, and a silent moment is no absence', () => {
  const steps = [
    pool(member('a')),
    pool(member('a'), member('b', { state: 'lost', build: null })),
    pool(member('a'), member('b')),
    pool(member('a'), member('b', { state: 'suspect' })),
    pool(member('a'), member('b')),
  ];
  const told = steps.slice(1).flatMap((after, index) => poolNews(steps[index] ?? pool(), after));
  expect(texts(told)).toEqual(['b has joined.']);
});
