import { expect, test } from 'vitest';
import type { ModelShape } from '../../../electron/planner/modelShape.ts';
import { exampleScenario, imaginedMember, type Scenario } from './scenario.ts';
import { readShared, scenarioFragment, scenarioText } from './sharedScenario.ts';

const { question } = exampleScenario();

const layer = { weightBytes: 1e8, kvBytesPerToken: 512, slidingWindow: null, expertBytes: 0, stateBytesPerSlot: 0 };
const shape: ModelShape = {
  name: 'n',
  architecture: 'gemma3',
  hiddenSize: 64,
  vocabularySize: 512,
  contextLength: 4096,
  layers: [layer, layer, { ...layer, weightBytes: 2e8, slidingWindow: 1024 }],
  embeddingBytes: 1e7,
  outputBytes: 1e7,
  sharedBytes: 0,
  tiedBytes: 1e7,
  cutPoints: [1, 2],
  unsplittableReason: null,
  attentionHeads: 8,
  feedForwardSize: 256,
  parameters: 5e8,
  experts: null,
};

const scenarios: Record<string, Scenario> = {
  example: { question, positions: { m1: { x: -10.5, y: 4 } } },
  'names beyond ASCII': { question: { ...question, members: [imaginedMember('ü', 'Büro 🖥 “4”')] }, positions: {} },
  'a shape of its own': {
    question: { ...question, model: { kind: 'own', layers: 12, hiddenSize: 512, weightBytes: 1e9 } },
    positions: {},
  },
  'a model of the library': {
    question: {
      ...question,
      model: { kind: 'library', id: 'abc', name: 'n', layers: 2, hiddenSize: 64, weightBytes: 1e9, shape: null },
    },
    positions: {},
  },
  'the exact shape of a model': {
    question: {
      ...question,
      model: {
        kind: 'library',
        id: 'abc',
        name: 'n',
        layers: 3,
        hiddenSize: 64,
        weightBytes: 1e9,
        shape,
        speeds: { m1: 0.5 },
      },
    },
    positions: {},
  },
};

test.each(Object.entries(scenarios))('%s comes back from a link and from a file', (_name, scenario) => {
  expect(readShared(scenarioFragment(scenario))).toEqual(scenario);
  expect(readShared(`http://127.0.0.1:4141/${scenarioFragment(scenario)}`)).toEqual(scenario);
  expect(readShared(scenarioText(scenario))).toEqual(scenario);
});

const file = (change: (parsed: ReturnType<typeof exampleScenario>) => unknown): string =>
  JSON.stringify({ roomful: 'plan', format: 1, ...(change(structuredClone(exampleScenario())) as object) });

test.each([
  ['nothing', '', 'not a shared plan'],
  ['other JSON', '{"a":1}', 'not a shared plan'],
  ['a broken link', 'http://x/#/planner?room=%%%', 'not a shared plan'],
  ['bytes that are no text', '#/planner?room=_____w', 'not a shared plan'],
  ['another version', '{"roomful":"plan","format":2}', 'another version'],
  ['a field that is missing', file(({ positions }) => ({ positions })), 'question'],
  ['memory below nothing', file((s) => ({ ...s, question: { ...s.question, context: -1 } })), 'question.context'],
  [
    'a member twice',
    file((s) => ({ ...s, question: { ...s.question, members: [...s.question.members, ...s.question.members] } })),
    'names a member twice',
  ],
  ['a field too many', file((s) => ({ ...s, question: { ...s.question, more: 1 } })), 'question'],
])('%s is refused with a plain line', (_name, text, line) => {
  expect(() => readShared(text)).toThrow(line);
});

test('links to members that are not there are left out', () => {
  const text = file((s) => ({
    ...s,
    question: {
      ...s.question,
      links: [
        { from: 'm1', to: 'gone', rttMs: 1 },
        { from: 'm1', to: 'm2', rttMs: 1 },
      ],
    },
  }));
  expect(readShared(text).question.links).toEqual([{ from: 'm1', to: 'm2', rttMs: 1 }]);
});
