import { expect, test } from 'vitest';
import { completesSet } from './completesSet.ts';

test('a set is imported once, with the last of its files, in whatever order they come', () => {
  const names = [
    'big-00003-of-00003.gguf',
    'alone.gguf',
    'big-00001-of-00003.gguf',
    'other-00001-of-00002.gguf',
    'big-00002-of-00003.GGUF',
    'big-00001-of-00002.gguf',
    'other-00002-of-00002.gguf',
  ];
  expect(names.filter((_, index) => completesSet(names, index))).toEqual([
    'alone.gguf',
    'big-00002-of-00003.GGUF',
    'big-00001-of-00002.gguf',
    'other-00002-of-00002.gguf',
  ]);
});
