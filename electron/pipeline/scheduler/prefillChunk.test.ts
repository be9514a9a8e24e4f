import { expect, test } from 'vitest';
import { prefillChunk } from './prefillChunk.ts';

/** Of a prompt over equal stages, against the same prompt in one chunk, where a chunk takes as long as it has tokens. */
function gain(promptLength: number, stages: number): number {
  const chunk = prefillChunk(promptLength, stages, 4096);
  return stages / ((Math.ceil(promptLength / chunk) + stages - 1) * (chunk / promptLength));
}

test('long prompts pass several stages nearly as quickly as each of them computes', () => {
  expect(gain(1024, 2)).toBeGreaterThan(1.7);
  expect(gain(4096, 4)).toBeGreaterThan(3.2);
});

test('one stage takes all that a step may hold, and short prompts stay whole', () => {
  expect(prefillChunk(4096, 1, 512)).toBe(512);
  expect(prefillChunk(100, 3, 512)).toBeGreaterThanOrEqual(100);
  expect(prefillChunk(100_000, 2, 512)).toBe(512);
});
