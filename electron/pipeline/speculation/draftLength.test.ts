import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Acceptance } from './acceptance.ts';
import { draftLength } from './draftLength.ts';
import { lookupDraft } from './lookupDraft.ts';

test('a long way round pays for many drafts, a step that grows with its rows for none', () => {
  const far = (rows: number): number => 40 + rows;
  const near = (rows: number): number => 10 * rows;
  expect(draftLength({ acceptance: 0.9, stepMs: far, draftMs: 0.5, most: 8 })).toBe(8);
  expect(draftLength({ acceptance: 0.9, stepMs: near, draftMs: 0, most: 8 })).toBe(0);
  expect(draftLength({ acceptance: 0.05, stepMs: far, draftMs: 3, most: 8 })).toBe(0);
  expect(draftLength({ acceptance: 1, stepMs: far, draftMs: 0.5, most: 3 })).toBe(3);
});

test('no other length is expected to be quicker', () => {
  const positive = fc.double({ min: 0.01, max: 50, noNaN: true });
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), positive, positive, positive, (p, fixed, row, draftMs) => {
      const stepMs = (rows: number): number => fixed + row * rows;
      const rate = (k: number): number => {
        const expected = Array.from({ length: k + 1 }, (_, i) => p ** i).reduce((sum, value) => sum + value, 0);
        return expected / (stepMs(k + 1) + k * draftMs);
      };
      const chosen = draftLength({ acceptance: p, stepMs, draftMs, most: 8 });
      for (let k = 0; k <= 8; k += 1) expect(rate(chosen)).toBeGreaterThanOrEqual(rate(k) * (1 - 1e-9));
    }),
  );
});

test('acceptance follows what happens lately', () => {
  const acceptance = new Acceptance();
  for (let i = 0; i < 100; i += 1) acceptance.observe(4, 4);
  expect(acceptance.probability).toBeGreaterThan(0.95);
  for (let i = 0; i < 100; i += 1) acceptance.observe(4, 0);
  expect(acceptance.probability).toBeLessThan(0.1);
});

test('a lookup gives what followed the last time, the longest likeness first', () => {
  expect(lookupDraft([1, 2, 3, 4, 9, 1, 2, 3, 4], 3)).toEqual([9, 1, 2]);
  expect(lookupDraft([5, 1, 2, 7, 6, 1, 2, 8, 5, 1, 2], 2)).toEqual([7, 6]);
  expect(lookupDraft([1, 2, 7, 1, 2, 8, 1, 2], 1)).toEqual([8]);
  expect(lookupDraft([1, 2, 3], 4)).toEqual([]);
  expect(lookupDraft([], 4)).toEqual([]);
  expect(lookupDraft([1, 2, 1, 2], 9)).toEqual([1, 2]);
});
