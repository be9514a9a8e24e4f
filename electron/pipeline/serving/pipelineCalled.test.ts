import { expect, test } from 'vitest';
import { pipelineCalled } from './pipelineCalled.ts';

const reports = [
  { model: `6cd8932df3e4${'0'.repeat(52)}`, modelId: 'llama-1b-q8_0', aliases: ['helper'] },
  { model: `6cd8932df3e4${'0'.repeat(52)}`, modelId: 'llama-1b-q8_0', aliases: ['helper'] },
  { model: `6cd89fffffff${'0'.repeat(52)}`, modelId: 'llama-1b-f16', aliases: ['llama'] },
  { model: '', modelId: 'qwen', aliases: [] },
];

test.each([
  ['llama-1b-q8_0', 'llama-1b-q8_0'],
  ['LLAMA-1B-Q8_0', 'llama-1b-q8_0'],
  ['helper', 'llama-1b-q8_0'],
  ['llama', 'llama-1b-f16'],
  ['6cd8932df3e4', 'llama-1b-q8_0'],
  ['6cd89f', 'llama-1b-f16'],
  ['qwen', 'qwen'],
  ['6cd8', null],
  ['', null],
  ['nobody', null],
])('%j is %j', (called, modelId) => {
  expect(pipelineCalled(reports, called)).toBe(modelId);
});

test('a name that two models have is refused with both', () => {
  const line = 'Several models are called llama-1b: llama-1b-q8_0, llama-1b-f16. Give the whole name.';
  expect(() => pipelineCalled(reports, 'llama-1b')).toThrow(line);
  expect(pipelineCalled(reports.slice(0, 2), 'llama-1b')).toBe('llama-1b-q8_0');
});
