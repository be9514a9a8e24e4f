import { expect, test } from 'vitest';
import { waysWithin } from './waysWithin.ts';

test('ways that are longer than the step had between processes are shortened alike', () => {
  expect(waysWithin([8, 4, 4], 2)).toEqual([1, 0.5, 0.5]);
  expect(waysWithin([0, 0], 0)).toEqual([0, 0]);
});

test('ways that fit in, and those of which one is not known, stay as they are', () => {
  expect(waysWithin([1, 0.5], 2)).toEqual([1, 0.5]);
  expect(waysWithin([8, null], 2)).toEqual([8, null]);
  expect(waysWithin([], 2)).toEqual([]);
});
