import { expect, test } from 'vitest';
import { formatBytes } from './formatBytes.ts';

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 KB'],
  [1_234_567, '1.2 MB'],
  [999_999, '1.0 MB'],
  [37_400_000_000, '37.4 GB'],
  [640_000_000_000_000, '640 TB'],
  [2e18, '2000000 TB'],
])('%d bytes read %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));
