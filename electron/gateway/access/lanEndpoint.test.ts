import { expect, it } from 'vitest';
import { retryAfterMs } from './lanEndpoint.ts';

it('is tried again ever more seldom, a minute apart at most', () => {
  const waits = Array.from({ length: 40 }, (_, index) => retryAfterMs(index + 1));
  expect(waits.slice(0, 8)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  expect(Math.max(...waits)).toBe(60_000);
});
