import fc from 'fast-check';
import { expect, test } from 'vitest';
import { windowBounds } from './windowPlace.ts';

const main = { x: 0, y: 0, width: 1920, height: 1040 };
const right = { x: 1920, y: 100, width: 1280, height: 900 };
const at = (x: number, y: number, width = 1000, height = 700) => ({
  bounds: { x, y, width, height },
  maximized: false,
});

test('the first window is in the middle of the main display', () => {
  expect(windowBounds(null, [main, right])).toEqual({ x: 370, y: 130, width: 1180, height: 780 });
});

test('it comes back where it was, also on another display', () => {
  expect(windowBounds(at(50, 60), [main, right])).toEqual(at(50, 60).bounds);
  expect(windowBounds(at(2000, 150), [main, right])).toEqual(at(2000, 150).bounds);
});

test('where its display is gone, it is in the middle of the main one, in its size', () => {
  expect(windowBounds(at(2000, 150), [main])).toEqual({ x: 460, y: 170, width: 1000, height: 700 });
});

test('what sticks out is moved in, what is too large is made smaller', () => {
  expect(windowBounds(at(1500, -20), [main])).toEqual({ x: 920, y: 0, width: 1000, height: 700 });
  expect(windowBounds(at(0, 0, 4000, 3000), [right, main])).toEqual({ x: 0, y: 0, width: 1920, height: 1040 });
});

test('wherever it was, all of it lies on a display', () => {
  const rectangle = fc.record({
    x: fc.integer({ min: -5000, max: 5000 }),
    y: fc.integer({ min: -5000, max: 5000 }),
    width: fc.integer({ min: 1, max: 8000 }),
    height: fc.integer({ min: 1, max: 8000 }),
  });
  fc.assert(
    fc.property(rectangle, fc.array(rectangle, { minLength: 1, maxLength: 4 }), (bounds, displays) => {
      const window = windowBounds({ bounds, maximized: false }, displays);
      const holds = displays.some(
        ({ x, y, width, height }) =>
          window.x >= x &&
          window.y >= y &&
          window.x + window.width <= x + width &&
          window.y + window.height <= y + height,
      );
      expect(holds).toBe(true);
    }),
  );
});
