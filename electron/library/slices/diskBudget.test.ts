import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chooseEvictions, type KeptFiles } from './diskBudget.ts';

const file = (key: string, bytes: number, usedAt: number, inUse = false): KeptFiles => ({ key, bytes, usedAt, inUse });

test('what was used least recently goes first, no more than has to, and nothing that serves', () => {
  const kept = [file('new', 40, 30), file('old', 40, 10), file('serving', 40, 1, true), file('middle', 40, 20)];
  expect(chooseEvictions(kept, 40, { budget: 200, free: 1000 })).toEqual({ fits: true, evict: [] });
  expect(chooseEvictions(kept, 50, { budget: 200, free: 1000 })).toEqual({ fits: true, evict: ['old'] });
  expect(chooseEvictions(kept, 100, { budget: 200, free: 1000 })).toEqual({ fits: true, evict: ['old', 'middle'] });
  expect(chooseEvictions(kept, 30, { budget: 1000, free: 10 })).toEqual({ fits: true, evict: ['old'] });
  expect(chooseEvictions(kept, 180, { budget: 200, free: 1000 })).toEqual({
    fits: false,
    missing: 20,
    shortOf: 'budget',
  });
  expect(chooseEvictions(kept, 180, { budget: 2000, free: 10 })).toEqual({ fits: false, missing: 50, shortOf: 'disk' });
});

test('whatever lies there: what fits, fits after the evictions, and nothing in use is among them', () => {
  const kept = fc.array(
    fc.record({
      key: fc.uuid(),
      bytes: fc.integer({ min: 0, max: 100 }),
      usedAt: fc.integer({ min: 0, max: 50 }),
      inUse: fc.boolean(),
    }),
    { maxLength: 12 },
  );
  const amount = fc.integer({ min: 0, max: 600 });
  fc.assert(
    fc.property(kept, amount, amount, amount, (files, needed, budget, free) => {
      const choice = chooseEvictions(files, needed, { budget, free });
      const sum = (some: KeptFiles[]): number => some.reduce((bytes, each) => bytes + each.bytes, 0);
      const held = files.filter(({ inUse }) => inUse);
      const couldFit = sum(held) + needed <= budget && needed <= free + sum(files) - sum(held);
      expect(choice.fits).toBe(couldFit || (needed <= free && sum(files) + needed <= budget));
      if (!choice.fits) return;
      const gone = files.filter(({ key }) => choice.evict.includes(key));
      expect(gone.some(({ inUse }) => inUse)).toBe(false);
      expect(sum(files) - sum(gone) + needed).toBeLessThanOrEqual(budget);
      expect(needed).toBeLessThanOrEqual(free + sum(gone));
    }),
  );
});
