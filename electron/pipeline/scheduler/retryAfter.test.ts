import fc from 'fast-check';
import { expect, test } from 'vitest';
import { retryAfter } from './retryAfter.ts';

const numbers = { queued: 64, slots: 4, requests: 10, generatedTokens: 1000, acceptedTokens: 0, stepMs: 20 };

test('a full queue takes as long as the answers of those that wait', () => {
  // 16 rounds of 100 steps of 20 ms.
  expect(retryAfter(numbers)).toBe(32);
  expect(retryAfter({ ...numbers, slots: 8 })).toBe(16);
  expect(retryAfter({ ...numbers, acceptedTokens: 750 })).toBe(8);
  expect(retryAfter({ ...numbers, stepMs: 20.1 })).toBe(33);
});

test('it is never less than a second nor more than a minute', () => {
  expect(retryAfter({ ...numbers, generatedTokens: 100_000 })).toBe(60);
  expect(retryAfter({ ...numbers, stepMs: 0.1 })).toBe(1);
  expect(retryAfter({ ...numbers, requests: 0, generatedTokens: 0 })).toBe(1);
  const any = fc.record({
    queued: fc.nat(),
    slots: fc.nat(),
    requests: fc.nat(),
    generatedTokens: fc.nat(),
    acceptedTokens: fc.nat(),
    stepMs: fc.double({ min: 0 }),
  });
  fc.assert(
    fc.property(any, (now) => {
      const seconds = retryAfter(now);
      expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60).toBe(true);
    }),
  );
});
