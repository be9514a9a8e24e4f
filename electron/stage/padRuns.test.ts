import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NativeRun } from './nativeAddon.ts';
import { padRuns } from './padRuns.ts';
import { RowCosts } from './rowCosts.ts';

/** Four rows for a third more than one, as Q4_0 was measured. */
const inFours = new RowCosts([100, 190, 250, 135]);
const bySlot = (...slots: number[]): NativeRun[] => slots.map((slot) => run(slot));
const run = (slot: number, fields: Partial<NativeRun> = {}): NativeRun => {
  return { slot, start: 20, tokens: Int32Array.of(7), truncateTo: null, sampling: null, ...fields };
};
const padded = (runs: NativeRun[], { costs = inFours, slots = 8, batch = 64, held = (_: number): number => 0 } = {}) =>
  padRuns(runs, { costs, slots, batch, held });
/** `+` where a slot pads. */
const shape = (runs: readonly NativeRun[]): string =>
  runs
    .map(({ slot, tokens, padRows = 0 }) => `${slot}${tokens.length === 0 ? '+' : ''}${padRows > 1 ? padRows : ''}`)
    .join(' ');

test('decodes are filled up to a block, at their side and between them', () => {
  expect(shape(padded(bySlot(0, 1)))).toBe('0 1 2+ 3+');
  expect(shape(padded(bySlot(0, 2)))).toBe('0 1+ 2 3+');
  expect(shape(padded(bySlot(1, 2, 3)))).toBe('1 2 3 4+');
  expect(shape(padded(bySlot(1, 2, 3), { slots: 4 }))).toBe('0+ 1 2 3');
  expect(shape(padded(bySlot(0, 2, 5, 7)))).toBe('0 1+ 2 3+ 4+ 5 6+ 7');
});

test('nothing is filled where it does not pay: one row, whole blocks, and rows that cost as much as steps', () => {
  expect(shape(padded(bySlot(3)))).toBe('3');
  expect(shape(padded(bySlot(0, 1, 2, 3)))).toBe('0 1 2 3');
  const linear = new RowCosts([10, 20, 30, 40]);
  expect(shape(padded(bySlot(0, 2), { costs: linear }))).toBe('0 2');
});

test('slots that are longer than what is computed, in use by another run or beyond the last do not fill', () => {
  expect(shape(padded(bySlot(0, 1), { slots: 2 }))).toBe('0 1');
  expect(shape(padded(bySlot(0, 1), { held: (slot) => (slot === 3 ? 300 : 0) }))).toBe('0 1');
  expect(shape(padded(bySlot(0, 1), { held: (slot) => (slot === 3 ? 200 : 0) }))).toBe('0 1 2+ 3+');
  expect(shape(padded([...bySlot(0, 1), run(2, { tokens: new Int32Array(30) })]))).toBe('0 1 2');
  expect(shape(padded(bySlot(0, 1), { batch: 3 }))).toBe('0 1');
});

test('drafts, rows that are computed alone and texts have no pads beside them', () => {
  expect(shape(padded([run(0, { drafts: 1 }), run(1)]))).toBe('0 1');
  expect(shape(padded([run(0, { aloneRows: 1 }), run(1, { aloneRows: 1 })]))).toBe('0 1');
  expect(shape(padded([run(0, { embed: 'sum' }), run(1, { embed: 'sum' })]))).toBe('0 1');
});

test('however many runs there are and whatever lies between them, no slot is in a step twice', () => {
  const slots = 48;
  const some = fc.uniqueArray(fc.record({ slot: fc.nat(slots - 1), other: fc.nat(30) }), {
    ...{ minLength: 17, maxLength: 40, size: 'max' as const },
    selector: ({ slot }) => slot,
  });
  fc.assert(
    fc.property(some, (given) => {
      const runs = given
        .sort((a, b) => a.slot - b.slot)
        .map(({ slot, other }) => run(slot, { drafts: other === 0 ? 1 : 0 }));
      const all = padded(runs, { slots }).map(({ slot }) => slot);
      expect(all).toHaveLength(new Set(all).size);
      expect(all).toEqual(expect.arrayContaining(runs.map(({ slot }) => slot)));
    }),
  );
});

/** What the batches cost that llama.cpp makes of such slots, with the small shares that decide among equals. */
function costOf(slots: readonly number[], pads: number, costs: RowCosts): number {
  const groups = slots.reduce<number[]>((counts, slot, index) => {
    if (index > 0 && slot === (slots[index - 1] ?? 0) + 1) counts.push((counts.pop() ?? 0) + 1);
    else counts.push(1);
    return counts;
  }, []);
  const shares = (pads * 0.01 + groups.length * 0.02) * costs.ms(1);
  return groups.reduce((sum, rows) => sum + costs.ms(rows), 0) + shares;
}

test('of all slots that could fill those are chosen with which the step is quickest, and every run is carried in its order', () => {
  const slots = 8;
  const given = fc.record({
    decodes: fc.uniqueArray(fc.nat(slots - 1), { minLength: 1, maxLength: 6 }),
    long: fc.uniqueArray(fc.nat(slots - 1), { maxLength: 3 }),
    measured: fc.tuple(...[1, 2, 3, 4].map(() => fc.integer({ min: 50, max: 300 }))),
  });
  fc.assert(
    fc.property(given, ({ decodes, long, measured }) => {
      const costs = new RowCosts([...measured].sort((a, b) => a - b));
      const runs = bySlot(...decodes.sort((a, b) => a - b));
      const held = (slot: number): number => (long.includes(slot) ? 1000 : 0);
      const result = padded(runs, { costs, slots, held });
      expect(result.filter(({ tokens }) => tokens.length > 0)).toEqual(runs);
      const all = result.map(({ slot }) => slot);
      expect(all).toEqual([...new Set(all)].sort((a, b) => a - b));
      expect(result.every(({ slot, tokens }) => tokens.length > 0 || !long.includes(slot))).toBe(true);

      const free = Array.from({ length: slots }, (_, slot) => slot).filter(
        (slot) => !decodes.includes(slot) && !long.includes(slot),
      );
      const plain = costOf(decodes, 0, costs);
      let best = plain;
      for (let mask = 1; mask < 2 ** free.length; mask += 1) {
        const filled = free.filter((_, bit) => ((mask >> bit) & 1) === 1);
        const ms = costOf(
          [...decodes, ...filled].sort((a, b) => a - b),
          filled.length,
          costs,
        );
        best = Math.min(best, ms);
      }
      // Sums in another order differ by rounding.
      fc.pre(Math.abs(best / plain - 0.95) > 1e-9);
      const expected = best < plain * 0.95 ? best : plain;
      expect(costOf(all, result.length - runs.length, costs)).toBeCloseTo(expected, 6);
    }),
    { numRuns: 300 },
  );
});
