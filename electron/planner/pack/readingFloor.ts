import type { Candidate } from '../admit/candidate.ts';
import type { RangeCosts } from '../costs/rangeCosts.ts';

/**
 * Tells for a set of members, by their index in the list, how many milliseconds they read the model for `sequences`
 * sequences at least: the fastest memory filled to the last byte.
 */
export function readingFloor(
  list: readonly Candidate[],
  costs: RangeCosts,
  sequences: number,
): (members: readonly number[]) => number {
  const total = costs.read(0, costs.layerCount, sequences);
  const banks = list
    .flatMap(({ deviceBytes, capacity, speed, hostSpeed }, index) => [
      { index, speed, bytes: deviceBytes },
      { index, speed: hostSpeed, bytes: capacity - deviceBytes },
    ])
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.speed - a.speed);
  return (members) => {
    let left = total;
    let ms = 0;
    let tier = 0;
    // Equal speeds are summed before they are divided, so that equal sets have equal floors to the last bit.
    banks.forEach(({ index, speed, bytes }, place) => {
      if (members.includes(index)) tier += bytes;
      if (banks[place + 1]?.speed === speed) return;
      const taken = Math.min(left, tier);
      ms += (taken / speed) * 1000;
      left -= taken;
      tier = 0;
    });
    return ms;
  };
}
