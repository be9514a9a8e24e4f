import { expect, test } from 'vitest';
import type { ChatMessage } from '../../electron/gateway/memberApi.ts';
import { newestBelow, threadTo, versionsOf } from './thread.ts';

const message = (id: string, parent: string | null): ChatMessage => ({
  id,
  parent,
  role: 'user',
  content: id,
  createdAt: 0,
  answer: null,
});
// a - b - c        an answer tried again: d; the first question edited: e - f
const history = [
  message('a', null),
  message('b', 'a'),
  message('c', 'b'),
  message('d', 'a'),
  message('e', null),
  message('f', 'e'),
];
const ids = (messages: readonly ChatMessage[]) => messages.map(({ id }) => id).join('');

test('a thread runs from the first message to its leaf', () => {
  expect(ids(threadTo(history, 'c'))).toBe('abc');
  expect(ids(threadTo(history, 'd'))).toBe('ad');
  expect(threadTo(history, null)).toEqual([]);
  expect(threadTo(history, 'gone')).toEqual([]);
});

test('versions of a message stand in the same place', () => {
  expect(ids(versionsOf(history, message('b', 'a')))).toBe('bd');
  expect(ids(versionsOf(history, message('a', null)))).toBe('ae');
});

test('a version is shown with what came after it last', () => {
  expect(newestBelow(history, 'a')).toBe('d');
  expect(newestBelow(history, 'b')).toBe('c');
  expect(newestBelow(history, 'f')).toBe('f');
  // The answer was tried again, and then one went on below the first one.
  expect(newestBelow([...history, message('g', 'c')], 'a')).toBe('g');
});

test('ten thousand messages in a row are one thread', () => {
  const long = Array.from({ length: 10_000 }, (_, index) => message(`m${index}`, index === 0 ? null : `m${index - 1}`));
  expect(threadTo(long, newestBelow(long, 'm0'))).toHaveLength(10_000);
});
