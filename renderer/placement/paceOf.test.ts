import { expect, test } from 'vitest';
import { paceOf } from './paceOf.ts';

test.each([
  [1.32, 1.1, '1.3 ms (1.1 predicted)'],
  [1200, 90, '1.2 s (90.0 ms predicted)'],
  [0.4, 1200, '0.40 ms (1.2 s predicted)'],
  [null, 0.9, '0.90 ms predicted'],
])('%s measured, %s predicted', (measuredMs, predictedMs, text) => {
  expect(paceOf({ measuredMs, predictedMs })).toBe(text);
});
