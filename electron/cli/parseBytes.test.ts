import { expect, test } from 'vitest';
import { parseBytes } from './parseBytes.ts';

test.each([
  ['1024', 1024],
  ['8GB', 8e9],
  ['7.5 GiB', 7.5 * 2 ** 30],
  ['512mb', 512e6],
])('%s', (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes);
});

test.each(['', 'GB', '-1', '0', '8 gigs', '1e9', '0.1 B'])('%j is no amount', (text) => {
  expect(() => parseBytes(text)).toThrow('such as 8GB');
});
