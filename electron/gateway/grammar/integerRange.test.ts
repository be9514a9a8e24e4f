import fc from 'fast-check';
import { expect, test } from 'vitest';
import { integerRange } from './integerRange.ts';

/** GBNF of digits, sets, counts and groups is a regular expression but for quotes and spaces. */
function accepts(range: string): (value: number) => boolean {
  const pattern = new RegExp(`^(?:${range.replace(/[" ]/g, '')})$`);
  return (value) => pattern.test(String(value));
}

test('holds exactly the integers between its bounds', () => {
  const near = fc.oneof(fc.integer({ min: -120, max: 1200 }), fc.integer({ min: -1e9, max: 1e9 }));
  fc.assert(
    fc.property(near, near, fc.array(near), (one, other, values) => {
      const [low, high] = [Math.min(one, other), Math.max(one, other)];
      const isIn = accepts(integerRange(low, high) ?? '');
      for (const value of [...values, low - 1, low, low + 1, high - 1, high, high + 1, 0]) {
        expect(isIn(value), `${value} in ${low}..${high}`).toBe(value >= low && value <= high);
      }
    }),
    { numRuns: 500 },
  );
});

test('is open where a bound is null, and null where it is empty', () => {
  expect(accepts(integerRange(7, null) ?? '')(10 ** 15 - 1)).toBe(true);
  expect(accepts(integerRange(7, null) ?? '')(6)).toBe(false);
  expect(accepts(integerRange(null, -3) ?? '')(-(10 ** 15) + 1)).toBe(true);
  expect(accepts(integerRange(null, 5) ?? '')(6)).toBe(false);
  expect(integerRange(3, 2)).toBeNull();
  expect(accepts(integerRange(0, 9) ?? '')(-0)).toBe(true);
});
