import { expect, test } from 'vitest';
import { whatDecayed } from './whatDecayed.ts';

/** What was read, and two other states of the same weights. */
const [READ, ONCE, ELSE] = ['read', 'once', 'else'] as const;

test.each([
  // Nothing to compare with, or with one thing alone.
  [null, null, 'nothing'],
  [READ, null, 'nothing'],
  [ONCE, null, 'model'],
  [null, { weights: READ, agrees: true }, 'nothing'],
  [null, { weights: ONCE, agrees: false }, 'tensors'],
  // Record and table agree: what was read is held against the table.
  [READ, { weights: READ, agrees: true }, 'nothing'],
  [ONCE, { weights: ONCE, agrees: false }, 'tensors'],
  // A file of the same tensors that differs beside them.
  [READ, { weights: READ, agrees: false }, 'tensors'],
  [null, { weights: READ, agrees: false }, 'tensors'],
  // Two against one.
  [READ, { weights: ONCE, agrees: false }, 'table'],
  [ONCE, { weights: READ, agrees: true }, 'record'],
  // All three differ.
  [ONCE, { weights: ELSE, agrees: false }, 'model'],
  // A table with the weights that were read and other bytes beside them, under another record.
  [ONCE, { weights: READ, agrees: false }, 'model'],
] as const)('record %j, table %j: %s', (recorded, table, expected) => {
  expect(whatDecayed({ recorded, table, found: READ })).toBe(expected);
});

test('every combination is one of them, and only what the table or the record contradicts is damage', () => {
  const ids = ['a', 'b', 'c'];
  for (const recorded of [null, ...ids]) {
    // A table that says of every tensor what was read has the hash of what was read.
    for (const table of [null, { weights: 'a', agrees: true }, ...ids.map((weights) => ({ weights, agrees: false }))]) {
      const decayed = whatDecayed({ recorded, table, found: 'a' });
      const isDamaged = decayed === 'tensors' || decayed === 'model';
      // What the record or an agreeing table stands for is never called damaged.
      if (table?.agrees) expect(isDamaged).toBe(false);
      if (recorded === 'a' && table?.weights !== 'a') expect(isDamaged).toBe(false);
      // Tensors are only named by a table that nothing contradicts.
      if (decayed === 'tensors') expect(recorded === null || recorded === table?.weights).toBe(true);
      // Nothing that contradicts what was read is passed over.
      const contradicts = (recorded !== null && recorded !== 'a') || table?.agrees === false;
      if (contradicts) expect(decayed).not.toBe('nothing');
    }
  }
});
