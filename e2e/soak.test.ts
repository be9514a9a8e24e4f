import { expect, test } from 'vitest';
import { soakPool } from './bench/soakPool.ts';

test.runIf(process.platform === 'linux')(
  'many streams at once get the texts that each gets alone, while a client reads nothing',
  async () => {
    const { answers, errors, wrong, unread } = await soakPool({ streams: 16, seconds: 20 });
    expect(errors).toEqual([]);
    expect(wrong).toBe(0);
    expect(answers).toBeGreaterThan(15);
    expect(unread).toBeGreaterThan(0);
  },
  180_000,
);
