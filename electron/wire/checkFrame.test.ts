import { expect, test } from 'vitest';
import { checkFrame } from './checkFrame.ts';
import { compareEpochs } from './epoch.ts';
import { StepFrame } from './generated/roomful/v1/ring.ts';

const epoch = { counter: 5, coordinator: 'm' };

test.each([
  [4, 'z', -1],
  [5, 'a', -1],
  [5, 'm', 0],
  [5, 'z', 1],
  [6, 'a', 1],
])('epoch (%i, %s) against (5, m) is %i', (counter, coordinator, order) => {
  expect(Math.sign(compareEpochs({ counter, coordinator }, epoch))).toBe(order);
  expect(Math.sign(compareEpochs(epoch, { counter, coordinator }))).toBe(0 - order);
});

test.each([
  ['Accepted', {}],
  ['Accepted', { step: 20 }],
  ['StaleStep', { step: 8 }],
  ['StaleStep', { step: 1 }],
  ['WrongPipeline', { pipeline: 'q' }],
  ['StaleEpoch', { epoch: { counter: 4, coordinator: 'z' } }],
  ['StaleEpoch', { epoch: undefined }],
  ['UnknownEpoch', { epoch: { counter: 5, coordinator: 'n' } }],
])('%s: %j', (verdict, change) => {
  const frame: StepFrame = { ...StepFrame.fromPartial({ pipeline: 'p', epoch, step: 9 }), ...change };
  expect(checkFrame({ pipeline: 'p', epoch, lastStep: 8 }, frame)).toBe(verdict);
});
