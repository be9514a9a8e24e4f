import { expect, test } from 'vitest';
import { exampleScenario, imaginedMember, type Question } from './scenario.ts';
import { serveParams } from './serveParams.ts';

const real = (id: string, gigabytes: number) => imaginedMember(id, id, { real: true, memoryBytes: gigabytes * 1e9 });
const question: Question = {
  ...exampleScenario().question,
  members: [real('a', 24), real('b', 24)],
  model: { kind: 'library', id: 'abc', name: 'Model', layers: 40, hiddenSize: 4096, weightBytes: 30e9, shape: null },
};

test('a plan of real members is served as it was seen', () => {
  const served = serveParams(question);
  expect(served).toMatchObject({ params: { model: 'abc', contextLength: 4096, slots: 4, force: 'cluster' } });
  expect('params' in served && [...(served.params.members ?? [])].sort()).toEqual(['a', 'b']);
});

test('policy, plain RAM, context and cache are served as they were chosen', () => {
  const changes = { policy: 'proportional', plainRam: 'always', context: 8192, kvType: 'q8_0', slots: 2 } as const;
  const { context: contextLength, ...rest } = changes;
  expect(serveParams({ ...question, ...changes })).toMatchObject({ params: { ...rest, contextLength } });
});

test('several pipelines are left to the pool', () => {
  const members = [real('a', 48), real('b', 48)];
  expect(serveParams({ ...question, members, replicas: 2 })).toMatchObject({ params: { replicas: 2 } });
});

test.each([
  ['a model that is not here', { model: { kind: 'known', id: 'llama-3.1-8b-instruct-q4_k_m' } }, 'Choose a model'],
  ['what does not fit', { members: [real('a', 8)] }, 'does not fit'],
  ['imagined members', { members: [real('a', 24), imaginedMember('m', 'dream')] }, 'dream: imagined'],
] as const)('%s is not served', (_name, changes, reason) => {
  const answer = serveParams({ ...question, ...changes } as Question);
  expect('reason' in answer && answer.reason).toContain(reason);
});
