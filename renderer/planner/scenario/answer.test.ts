import { describe, expect, test } from 'vitest';
import { answerTo } from './answer.ts';
import { knownModels } from './knownModels.ts';
import { memberViews } from './memberView.ts';
import { libraryChoice } from './modelChoice.ts';
import { exampleScenario, imaginedMember, type Question } from './scenario.ts';

const { question } = exampleScenario();
const planOf = (changes: Partial<Question>) => {
  const { plan, problem } = answerTo({ ...question, ...changes });
  if (plan === null) throw new Error(problem);
  return plan;
};
const gpu = (id: string, gigabytes: number) => imaginedMember(id, id, { memoryBytes: gigabytes * 1e9 });

test('the example needs two members, and its answer is worked out once', () => {
  expect(planOf({}).fit).toBe('ClusterRequired');
  expect(answerTo(question)).toBe(answerTo(question));
});

test.each(knownModels)('$id runs where there is room for it', ({ id, shape }) => {
  const members = Array.from({ length: 12 }, (_, index) => gpu(`m${index}`, 48));
  const { pipelines, prediction } = planOf({ model: { kind: 'known', id }, members });
  expect(pipelines[0]?.stages.at(-1)?.endLayer).toBe(shape.layers.length);
  expect(prediction?.tokensPerSecond).toBeGreaterThan(0);
});

test('a member that is switched off is left out', () => {
  const members = question.members.map((member) => ({ ...member, included: member.id !== 'm2' }));
  const views = memberViews({ ...question, members });
  expect(views.get('m2')).toMatchObject({ idle: 'switched off', endLayer: 0 });
});

test('a slow network of one member lengthens its hops alone', () => {
  const members = [gpu('m1', 30), gpu('m2', 30)];
  const slow = members.map((member) => ({ ...member, addedMs: member.id === 'm2' ? 20 : 0 }));
  const hop = (plan: ReturnType<typeof planOf>) => plan.pipelines[0]?.prediction.hops[0]?.ms ?? 0;
  expect(hop(planOf({ members: slow })) - hop(planOf({ members }))).toBeCloseTo(10);
});

test('measured links count before the network of the room', () => {
  const members = [gpu('m1', 30), gpu('m2', 30)];
  const links = [
    { from: 'm1', to: 'm2', rttMs: 8 },
    { from: 'm2', to: 'm1', rttMs: 8 },
  ];
  expect(planOf({ members, links }).pipelines[0]?.prediction.hops[0]?.ms).toBeGreaterThan(4);
});

describe('what the planner cannot reason about is one line', () => {
  test('a model that this version does not know', () => {
    expect(answerTo({ ...question, model: { kind: 'known', id: 'gone' } }).problem).toContain('does not know');
  });
  test('a wish that contradicts itself', () => {
    expect(answerTo({ ...question, force: 'cluster', slots: 0 }).problem).toMatch(/planner cannot/);
  });
});

test('a stage shows its layers, memory and time', () => {
  const views = [...memberViews(question).values()].filter(({ idle }) => idle === null);
  expect(views.map(({ startLayer }) => startLayer)).toContain(0);
  for (const view of views) {
    expect(view.weightBytes + view.kvBytes + view.otherBytes).toBeLessThanOrEqual(view.memoryBytes);
    expect(view.ms).toBeGreaterThan(0);
  }
});

test('what stages of a model were measured to do counts for the real members that did it', () => {
  const msOf = (changes: Partial<Question['members'][number]>, speeds?: Record<string, number>) => {
    const members = [imaginedMember('m1', 'm1', { memoryBytes: 96e9, bandwidth: 500e9, real: true, ...changes })];
    const held = { id: 'abc', name: 'Model', layers: 40, parameters: 14e9, bytes: 9e9 };
    return planOf({ members, model: libraryChoice(held, null, speeds) }).pipelines[0]?.prediction.stages[0]?.ms ?? 0;
  };
  const plain = msOf({});
  expect(msOf({}, { m1: 0.5 })).toBeCloseTo(2 * plain, 9);
  expect(msOf({}, { m2: 0.5 })).toBe(plain);
  expect(msOf({ real: false }, { m1: 0.5 })).toBe(plain);
  expect(msOf({ bandwidth: null }, { m1: 0.5 })).toBe(msOf({ bandwidth: null }));
});
