import { expect, test } from 'vitest';
import { PALETTE_SIZE } from '../planner/graph/palette.ts';
import { bandsOf } from './bandsOf.ts';

test('bands follow each other and are as wide as their bytes', () => {
  const bands = bandsOf([
    { member: 'a', startLayer: 0, endLayer: 3, bytes: 600, kvBytes: 0 },
    { member: 'b', startLayer: 3, endLayer: 4, bytes: 300, kvBytes: 0 },
    { member: 'c', startLayer: 4, endLayer: 6, bytes: 100, kvBytes: 0 },
  ]);
  expect(bands.map(({ offset, width }) => [offset, width])).toEqual([
    [0, 0.6],
    [0.6, 0.3],
    [0.8999999999999999, 0.1],
  ]);
  expect(bands.map(({ layers, startLayer, lastLayer }) => [layers, startLayer, lastLayer])).toEqual([
    [3, 0, 2],
    [1, 3, 3],
    [2, 4, 5],
  ]);
});

test('stages of unknown size share the width, and colours come round again', () => {
  const bands = bandsOf(
    Array.from({ length: 8 }, (_, i) => ({ member: `m${i}`, startLayer: i, endLayer: i + 1, bytes: 0, kvBytes: 0 })),
  );
  expect(bands.map(({ width }) => width)).toEqual(Array(8).fill(1 / 8));
  expect(bands[PALETTE_SIZE]?.color).toBe(bands[0]?.color);
});
