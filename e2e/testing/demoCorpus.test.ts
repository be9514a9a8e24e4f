import { expect, test } from 'vitest';
import { demoCorpus } from './demoCorpus.ts';

test('the corpus is read whole', () => {
  const corpus = demoCorpus();
  expect(corpus).toHaveLength(82);
  expect(corpus.every(({ questions, answer }) => questions.length > 0 && answer.length > 0)).toBe(true);
  expect(corpus.find(({ questions }) => questions.includes('What is a hop?'))?.answer).toMatch(/^A hop is one trip/);
});
