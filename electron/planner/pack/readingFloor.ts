import type { Candidate } from '../admit/candidate.ts';
import { memberSets } from './memberSets.ts';
import type { Packing } from './packing.ts';

/** Tells for a set of `memberSets` how many milliseconds something takes at least. */
export type Floor = (set: number) => number;

/**
 * Tells for a set of `memberSets` how many milliseconds they read the model for `sequences`
 * sequences at least: the fastest memory filled first, each member with no more than the most that one stage can hold there.
 */
export function readingFloor(
  list: readonly Candidate[],
  { costs, reachOf }: Pick<Packing, 'costs' | 'reachOf'>,
  sequences: number,
): Floor {
  const total = costs.read(0, costs.layerCount, sequences);
  const { bits } = memberSets(list.length);
  const banks = list
    .flatMap(({ deviceBytes, capacity, speed, hostSpeed }, index) => {
      const most = sequences === 1 ? reachOf(capacity).mostRead : Number.POSITIVE_INFINITY;
      const bit = bits[index] ?? 0;
      return [
        { bit, speed, bytes: Math.min(deviceBytes, most) },
        { bit, speed: hostSpeed, bytes: Math.min(capacity - deviceBytes, most) },
      ];
    })
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.speed - a.speed);
  return (set) => {
    let left = total;
    let ms = 0;
    let tier = 0;
    // Equal speeds are summed before they are divided, so that equal sets have equal floors to the last bit.
    for (let place = 0; place < banks.length && left > 0; place += 1) {
      const bank = banks[place];
      if (bank === undefined) break;
      if ((set & bank.bit) !== 0) tier += bank.bytes;
      if (tier === 0 || banks[place + 1]?.speed === bank.speed) continue;
      const taken = Math.min(left, tier);
      ms += (taken / bank.speed) * 1000;
      left -= taken;
      tier = 0;
    }
    return ms;
  };
}
