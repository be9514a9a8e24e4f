import { expect, test } from 'vitest';
import { fitText, hopsText } from './outcomeText.ts';
import { answerTo } from './scenario/answer.ts';
import { exampleScenario, imaginedMember } from './scenario/scenario.ts';

const { question } = exampleScenario();
const planOf = (gigabytes: readonly number[], replicas: number | null, weightBytes = 41e9) => {
  const members = gigabytes.map((size, index) => imaginedMember(`m${index}`, `m${index}`, { memoryBytes: size * 1e9 }));
  const model = { kind: 'own', layers: 80, hiddenSize: 4096, weightBytes } as const;
  const { plan } = answerTo({ ...question, members, replicas, model });
  if (plan === null) throw new Error('There is a plan.');
  return plan;
};

test('all members of all pipelines are counted, and hops from the fewest to the most', () => {
  const plan = planOf([30, 30, 20, 20, 20], 2);
  expect(plan.pipelines.map(({ stages }) => stages.length).sort()).toEqual([2, 3]);
  expect(fitText(plan)).toBe('2 pipelines on 5 members');
  expect(hopsText(plan.pipelines)).toBe('1–2');
});

test.each([
  ['one member', [80], 'On one member', '0'],
  ['two members', [30, 30], 'On 2 members', '1'],
])('one pipeline on %s', (_name, gigabytes, fit, hops) => {
  const plan = planOf(gigabytes, null);
  expect(fitText(plan)).toBe(fit);
  expect(hopsText(plan.pipelines)).toBe(hops);
});

test('what does not fit says how much is missing', () => {
  expect(fitText(planOf([8], null))).toMatch(/^\d+(\.\d)? GB missing$/);
});
