import { expect, test } from 'vitest';
import { member } from '../../../electron/gateway/testing/memberFixtures.ts';
import { exampleScenario, imaginedMember, type Question } from './scenario.ts';
import { serveParams } from './serveParams.ts';

const real = (id: string, gigabytes: number) => imaginedMember(id, id, { real: true, memoryBytes: gigabytes * 1e9 });
const question: Question = {
  ...exampleScenario().question,
  members: [real('a', 24), real('b', 24)],
  model: { kind: 'library', id: 'abc', name: 'Model', layers: 40, hiddenSize: 4096, weightBytes: 30e9, shape: null },
};

const pool = [member('a', { shareBytes: 48e9 }), member('b', { shareBytes: 48e9 })];

test('a plan of real members is served as it was seen', () => {
  const served = serveParams(question, pool);
  expect(served).toMatchObject({ params: { model: 'abc', contextLength: 4096, slots: 4, force: 'cluster' } });
  expect('params' in served && [...(served.params.members ?? [])].sort()).toEqual(['a', 'b']);
});

test('policy, plain RAM, context and cache are served as they were chosen', () => {
  const changes = { policy: 'proportional', plainRam: 'always', context: 8192, kvType: 'q8_0', slots: 2 } as const;
  const { context: contextLength, ...rest } = changes;
  expect(serveParams({ ...question, ...changes }, pool)).toMatchObject({ params: { ...rest, contextLength } });
});

test('several pipelines are left to the pool', () => {
  const members = [real('a', 48), real('b', 48)];
  expect(serveParams({ ...question, members, replicas: 2 }, pool)).toMatchObject({ params: { replicas: 2 } });
});

test.each([
  ['a model that is not here', { model: { kind: 'known', id: 'llama-3.1-8b-instruct-q4_k_m' } }, 'Choose a model'],
  ['what does not fit', { members: [real('a', 8)] }, 'does not fit'],
  ['imagined members', { members: [real('a', 24), imaginedMember('m', 'dream')] }, 'dream: imagined'],
] as const)('%s is not served', (_name, changes, reason) => {
  const answer = serveParams({ ...question, ...changes } as Question, pool);
  expect('reason' in answer && answer.reason).toContain(reason);
});

test.each([
  ['was removed', [member('a', { shareBytes: 48e9 })], 'b is not in this pool now.'],
  [
    'was lost',
    [member('a', { shareBytes: 48e9 }), member('b', { shareBytes: 48e9, state: 'lost' })],
    'b is not there now.',
  ],
  [
    'is paused',
    [member('a', { shareBytes: 48e9 }), member('b', { shareBytes: 0, paused: ['owner'] })],
    'b shares nothing',
  ],
  ['shares less', [member('a', { shareBytes: 48e9 }), member('b', { shareBytes: 1e9 })], 'but shares 1.0 GB now.'],
])('what a member that %s since then could not hold is not served', (_name, now, reason) => {
  expect(serveParams(question, now)).toEqual({ reason: expect.stringContaining(reason) });
});

test('memory that is imagined counts where the stage needs it, and not where it does not', () => {
  const larger = { ...question, members: [real('a', 24), real('b', 128)] };
  expect(serveParams(larger, pool)).toHaveProperty('params');
  expect(serveParams(larger, [member('a', { shareBytes: 24e9 }), member('b', { shareBytes: 1e9 })])).toEqual({
    reason: expect.stringMatching(/^b would need [\d.]+ GB, but shares 1.0 GB now\.$/),
  });
});
