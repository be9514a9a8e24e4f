import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LEAST_LONE, LoneTimes } from './loneTimes.ts';

const after = (times: readonly number[]): number | null => {
  const lone = new LoneTimes();
  for (const ms of times) lone.add(ms);
  return lone.ms;
};

test('few steps say nothing, and hiccups among many do not count', () => {
  expect(after(Array.from({ length: LEAST_LONE - 1 }, () => 3))).toBeNull();
  expect(after(Array.from({ length: LEAST_LONE }, () => 3))).toBe(3);
  const mostly = fc.array(fc.constantFrom(0.001, 3, 3, 3, 3, 900), { minLength: 40, maxLength: 40 });
  fc.assert(
    fc.property(mostly, (times) => {
      fc.pre(times.filter((ms) => ms === 3).length > times.length / 2);
      expect(after(times)).toBe(3);
    }),
  );
});

test('what a machine did when it was cold is forgotten', () => {
  expect(after([...Array.from({ length: 500 }, () => 40), ...Array.from({ length: 64 }, () => 3)])).toBe(3);
});
