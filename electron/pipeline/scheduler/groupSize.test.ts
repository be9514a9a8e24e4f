import { expect, test } from 'vitest';
import { groupSize } from './groupSize.ts';
import { StepCosts } from './stepCosts.ts';

/** A ring of two stages of which each needs `fixedMs + rowMs * rows`. */
function measured(fixedMs: number, rowMs: number, networkMs: number): StepCosts {
  return measuredAs([1, 2, 4, 8], (rows) => fixedMs + rowMs * rows, networkMs);
}

/** Each size three times. */
function measuredAs(sizes: number[], computeMsOf: (rows: number) => number, networkMs = 0): StepCosts {
  const costs = new StepCosts();
  for (const rows of [...sizes, ...sizes, ...sizes]) {
    const computeMs = computeMsOf(rows);
    costs.observe({
      rows,
      stages: [
        { computeMs, queueMs: 0 },
        { computeMs, queueMs: 0 },
      ],
      ringMs: 2 * computeMs + networkMs,
    });
  }
  return costs;
}

test('before anything was measured there is one step for each stage', () => {
  const costs = new StepCosts();
  expect([1, 2, 3, 4, 8].map((active) => groupSize(active, 2, costs, 64))).toEqual([1, 1, 2, 2, 4]);
});

test('where rows are free, as on a GPU, sequences share steps; where each costs as much as a step, they do not', () => {
  expect(groupSize(8, 2, measured(20, 0.1, 0), 64)).toBe(4);
  expect(groupSize(8, 2, measured(0, 20, 0), 64)).toBe(1);
});

test('a long way round is filled with smaller groups', () => {
  expect(groupSize(4, 2, measured(10, 10, 0), 64)).toBe(2);
  expect(groupSize(4, 2, measured(10, 10, 40), 64)).toBe(1);
});

test('a size that was never measured is tried: kernels may take four rows for the price of one', () => {
  const inFours = (rows: number): number => 10 * (Math.floor(rows / 4) + (rows % 4));
  expect(groupSize(8, 2, measuredAs([1, 2], inFours), 64)).toBe(4);
  expect(groupSize(8, 2, measuredAs([1, 2, 4], inFours), 64)).toBe(8);
  expect(groupSize(8, 2, measuredAs([1, 2, 4, 8], inFours), 64)).toBe(4);
  // Two rows cost as much as two steps, by which alone nobody would have tried four.
  expect(groupSize(2, 2, measuredAs([1, 2], inFours), 64)).toBe(1);
});

test('a step takes no more rows than it may', () => {
  expect(groupSize(8, 2, measured(20, 0.1, 0), 2)).toBe(2);
  expect(groupSize(1, 2, measured(20, 0.1, 0), 64)).toBe(1);
});

test('costs between measured sizes lie on the line, a single size is half fixed, and prefill does not count', () => {
  const costs = measured(10, 2, 6);
  expect(costs.slowestMs(3)).toBeCloseTo(16);
  expect(costs.slowestMs(8)).toBeCloseTo(26);
  expect(costs.ringMs(3)).toBeCloseTo(38);
  const one = new StepCosts();
  one.observe({ rows: 1, stages: [{ computeMs: 10, queueMs: 5 }], ringMs: 17 });
  one.observe({ rows: 500, stages: [{ computeMs: 900, queueMs: 0 }], ringMs: 900 });
  expect(one.slowestMs(3)).toBeCloseTo(20);
  expect(one.networkMs).toBeCloseTo(2);
});
