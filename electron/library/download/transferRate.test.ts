import { expect, it } from 'vitest';
import { TransferRate } from './transferRate.ts';

it('is that of the last seconds, and says how long the rest takes', () => {
  const rate = new TransferRate();
  expect([rate.bytesPerSecond(), rate.secondsLeft(100)]).toEqual([0, null]);
  for (let second = 0; second <= 20; second++) rate.add(second * 1000, second * 10);
  expect(rate.bytesPerSecond()).toBeCloseTo(10);
  expect(rate.secondsLeft(300)).toBeCloseTo(10);
  expect(rate.secondsLeft(null)).toBeNull();
  for (let second = 21; second <= 40; second++) rate.add(second * 1000, 200 + (second - 20) * 50);
  expect(rate.bytesPerSecond()).toBeCloseTo(50);
});

it('begins anew where less has arrived than before, and stands still where nothing does', () => {
  const rate = new TransferRate();
  rate.add(0, 0);
  rate.add(1000, 1e6);
  rate.add(2000, 10);
  expect(rate.bytesPerSecond()).toBe(0);
  rate.add(20_000, 10);
  rate.add(40_000, 10);
  expect([rate.bytesPerSecond(), rate.secondsLeft(100)]).toEqual([0, null]);
});
