import { expect, test } from 'vitest';
import { Standstill } from './standstill.ts';

test('what comes right after a standstill has waited through it; busy moments and what comes later have not', () => {
  let now = 1000;
  const standstill = new Standstill(() => now);
  const after = (ms: number): boolean => {
    now += ms;
    return standstill.hasJustEnded();
  };
  expect([after(0), after(500), after(4900)]).toEqual([false, false, false]);
  expect([after(600_000), after(100), after(250), after(500)]).toEqual([true, true, false, false]);
  standstill.close();
});
