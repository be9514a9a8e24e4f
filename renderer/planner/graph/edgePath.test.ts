import { expect, test } from 'vitest';
import { edgePath } from './edgePath.ts';

const box = (x: number, y: number) => ({ x, y, width: 100, height: 50 });

test('a straight line leaves a box at its border and ends at that of the other', () => {
  expect(edgePath(box(0, 0), box(300, 0), false).path).toBe('M105 25 L295 25');
  expect(edgePath(box(0, 200), box(0, 0), false).path).toBe('M50 195 L50 55');
});

test('there and back do not lie on each other', () => {
  const there = edgePath(box(0, 0), box(300, 0), true);
  const back = edgePath(box(300, 0), box(0, 0), true);
  expect(there.label.y).toBeGreaterThan(25);
  expect(back.label.y).toBeLessThan(25);
});

test.each([200, -200])('where boxes stand above each other, the labels of there and back stand apart (%i px)', (y) => {
  const there = edgePath(box(0, 0), box(0, y), false).label.x - 50;
  const back = edgePath(box(0, y), box(0, 0), true).label.x - 50;
  expect(Math.sign(there)).toBe(-Math.sign(back));
});

test('boxes at one place have a path of numbers', () => {
  for (const bent of [true, false]) expect(edgePath(box(0, 0), box(0, 0), bent).path).not.toMatch(/NaN|Infinity/);
});
