import { expect, test } from 'vitest';
import { firstSentence } from './firstSentence.ts';

test.each([
  ['The model does not fit: 7.3 GB are missing. Add a member.', 'The model does not fit: 7.3 GB are missing.'],
  ['attic at 192.0.2.2:33627 is away', 'attic at 192.0.2.2:33627 is away'],
  [' Ask again! Later. ', 'Ask again!'],
  ['', ''],
])('the first sentence of %j', (text, first) => {
  expect(firstSentence(text)).toBe(first);
});
