import { expect, test } from 'vitest';
import { partBytes } from './seedParts.ts';

test.each([1, 1000, (128 << 10) + 1, 21_000_003, 222e6, 4_683_074_240, 40e9 + 7])(
  'parts of %i bytes: a break loses little, and counting whole parts counts the bytes',
  (bytes) => {
    const part = partBytes(bytes);
    const parts = Math.ceil(bytes / part);
    expect(part * (parts - 1)).toBeLessThan(bytes);
    expect(part * parts - bytes).toBeLessThan(parts);
    expect(part).toBeLessThanOrEqual(5 << 20);
    if (bytes > 10e6) expect((3 * part) / bytes).toBeLessThan(0.02);
    if (bytes > 1e9) expect((3 * part) / bytes).toBeLessThan(0.002);
  },
);
