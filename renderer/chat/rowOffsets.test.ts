import { expect, test } from 'vitest';
import { rowOffsets, rowsBetween } from './rowOffsets.ts';

const ids = ['a', 'b', 'c', 'd'];

test('known heights count, others are estimated', () => {
  expect([...rowOffsets(ids, new Map([['b', 50]]), 10)]).toEqual([0, 10, 60, 70, 80]);
});

test('the rows in sight are those that touch it', () => {
  const offsets = rowOffsets(ids, new Map(), 10);
  expect(rowsBetween(offsets, 0, 5)).toEqual({ first: 0, end: 1 });
  expect(rowsBetween(offsets, 15, 25)).toEqual({ first: 1, end: 3 });
  expect(rowsBetween(offsets, -100, 1000)).toEqual({ first: 0, end: 4 });
  expect(rowsBetween(offsets, 1000, 2000)).toEqual({ first: 4, end: 4 });
  expect(rowsBetween(rowOffsets([], new Map(), 10), 0, 100)).toEqual({ first: 0, end: 0 });
});
