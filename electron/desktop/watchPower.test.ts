import { expect, test } from 'vitest';
import { powerMonitor } from './testing/electronStandIn.ts';
import { start, world } from './testing/shellHarness.ts';

test.each([
  ['suspend', 'sleep'],
  ['resume', 'wake'],
  ['on-battery', 'checkPower'],
  ['on-ac', 'checkPower'],
])('%s: the member is told to %s', async (event, call) => {
  await start();
  powerMonitor.emit(event);
  expect(world.calls).toEqual([call]);
});
