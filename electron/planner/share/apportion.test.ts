import { describe, expect, test } from 'vitest';
import { apportion } from './apportion.ts';

const claims = (weights: number[], most = weights.map(() => 1000)) =>
  weights.map((weight, index) => ({ address: `m${index}`, weight, most: most[index] ?? 0 }));

describe('layers dealt by largest remainder', () => {
  test.each([
    { why: 'even shares', weights: [1, 1], layers: 80, counts: [40, 40] },
    { why: 'a tie goes to the lower address', weights: [80, 80], layers: 81, counts: [41, 40] },
    { why: '13.33 and 26.67: the larger remainder', weights: [24, 48], layers: 40, counts: [13, 27] },
    { why: '20.21, 6.74, 5.05', weights: [24, 8, 6], layers: 32, counts: [20, 7, 5] },
    {
      why: '7.84, 0.08, 0.08: one each, the excess from the largest',
      weights: [100, 1, 1],
      layers: 8,
      counts: [6, 1, 1],
    },
    {
      why: '5.4, 4.5, 0.1: the smallest is lifted, and nothing is left to deal',
      weights: [54, 45, 1],
      layers: 10,
      counts: [5, 4, 1],
    },
    { why: 'a tie of remainders goes to more memory: 7.5 and 2.5', weights: [3, 1], layers: 10, counts: [8, 2] },
    { why: 'one each', weights: [9, 5, 1], layers: 3, counts: [1, 1, 1] },
  ])('$why', ({ weights, layers, counts }) => {
    expect(apportion(claims(weights), layers)).toEqual(counts);
  });

  test('a full one takes what it can, the others share the rest by weight', () => {
    // Quotas 15, 10, 5; the first can hold 9: 21 layers for weights 2 and 1.
    expect(apportion(claims([3, 2, 1], [9, 100, 100]), 30)).toEqual([9, 14, 7]);
    // Which fills the second: 21 x 2/3 = 14 of 10.
    expect(apportion(claims([3, 2, 1], [9, 10, 100]), 30)).toEqual([9, 10, 11]);
    expect(apportion(claims([1, 1, 1], [2, 2, 2]), 6)).toEqual([2, 2, 2]);
  });

  test('a full one gets no remainder', () => {
    // Quotas 9.96 and 9.04, room for 10 and 9.
    expect(apportion(claims([10.9, 9.9], [10, 9]), 19)).toEqual([10, 9]);
    expect(apportion(claims([10.9, 9.9], [10, 9]).reverse(), 19)).toEqual([9, 10]);
  });
});
