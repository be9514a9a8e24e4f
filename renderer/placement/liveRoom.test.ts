import { expect, test } from 'vitest';
import { figures, member, pipeline, servingStage } from '../../electron/gateway/testing/memberFixtures.ts';
import { liveRoom } from './liveRoom.ts';

const desk = member('desk', { shareBytes: 24e9 });
const attic = member('attic', { shareBytes: 8e9 });
const spare = member('spare', { shareBytes: 8e9 });
const onTwo = pipeline({ figures: figures() });

test('members that hold layers come first, the others are there with the reason', () => {
  const lost = member('lost', { state: 'lost' });
  const { members } = liveRoom(onTwo, [spare, lost, attic, desk, member('gone', { state: 'left' })], [onTwo]);
  expect(members.map(({ id, note }) => [id, note])).toEqual([
    ['desk', null],
    ['attic', null],
    ['spare', 'not needed'],
    ['lost', 'lost'],
  ]);
  expect(members.map(({ drives }) => drives)).toEqual([true, false, false, false]);
});

test('cards are wider for more memory', () => {
  const [wide, narrow] = liveRoom(onTwo, [desk, attic], [onTwo]).members;
  expect(wide?.width).toBeGreaterThan(narrow?.width ?? Number.NaN);
});

test('the way of a token: over the hops and back to the driver', () => {
  const { hops } = liveRoom(onTwo, [desk, attic], [onTwo]);
  expect(hops).toMatchObject([
    { from: 'desk', to: 'attic', carries: 'activations', pace: { measuredMs: 0.42, predictedMs: 0.5 }, bytes: 2e6 },
    { from: 'attic', to: 'desk', carries: 'tokens', pace: { measuredMs: 0.4, predictedMs: 0.5 } },
  ]);
});

test('a driver without layers sends tokens in, too, and is there', () => {
  const driven = { ...onTwo, driver: { id: 'far', name: 'far' } };
  const { hops, members } = liveRoom(driven, [desk, attic], [driven]);
  expect(hops.map(({ from, to, carries }) => `${carries} ${from} ${to}`)).toEqual([
    'tokens far desk',
    'activations desk attic',
    'tokens attic far',
  ]);
  expect(members.at(-1)).toMatchObject({ id: 'far', drives: true, stage: null, note: 'not in the pool' });
});

test('a stage shows what is wrong with its member, and other models count as other memory', () => {
  const other = pipeline({ id: 'q', placement: [servingStage('attic', 0, 1, 7, 2)] });
  const { members } = liveRoom(onTwo, [desk, { ...attic, state: 'lost' }], [onTwo, other]);
  expect(members[1]).toMatchObject({ note: 'lost', elsewhereBytes: 7 });
});

test('of a pipeline that has ended only those are shown that had a part', () => {
  const ended = { ...onTwo, state: 'failed' as const };
  expect(liveRoom(ended, [desk, attic, spare], [ended]).members.map(({ id }) => id)).toEqual(['desk', 'attic']);
});
