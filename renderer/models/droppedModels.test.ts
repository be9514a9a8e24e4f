import { expect, test } from 'vitest';
import { droppedModels } from './droppedModels.ts';

const drop = (...names: string[]) =>
  droppedModels(names.map((name) => ({ name }))).map(({ name, files, missing }) => ({
    name,
    files: files.map((file) => file.name),
    missing,
  }));

test('the files of a set are one model, in whatever order and between whatever others they come', () => {
  const names = ['big-00003-of-00003.gguf', 'alone.gguf', 'big-00001-of-00003.gguf', 'big-00002-of-00003.GGUF'];
  expect(drop(...names)).toEqual([
    { name: 'big.gguf', files: [names[0], names[2], names[3]], missing: [] },
    { name: 'alone.gguf', files: ['alone.gguf'], missing: [] },
  ]);
});

test('what is missing of a set is named', () => {
  expect(drop('big-00003-of-00003.gguf', 'big-00001-of-00003.gguf')[0]?.missing).toEqual(['big-00002-of-00003.gguf']);
});

test('sets of other lengths, and lone files of one name, are models of their own', () => {
  expect(drop('a-00001-of-00002.gguf', 'a-00001-of-00003.gguf', 'b.gguf', 'b.gguf')).toHaveLength(4);
});
