import type { Candidate } from '../admit/candidate.ts';
import type { Packing } from './packing.ts';

/**
 * Tells for a set of members, by their index in the list, how many milliseconds they read the model for `sequences`
 * sequences at least: the fastest memory filled first, each member with no more than the most that one stage can hold there.
 */
export function readingFloor(
  list: readonly Candidate[],
  { costs, reachOf }: Pick<Packing, 'costs' | 'reachOf'>,
  sequences: number,
): (members: readonly number[]) => number {
  const total = costs.read(0, costs.layerCount, sequences);
  const banks = list
    .flatMap(({ deviceBytes, capacity, speed, hostSpeed }, index) => {
      const most = sequences === 1 ? reachOf(capacity).mostRead : Number.POSITIVE_INFINITY;
      return [
        { index, speed, bytes: Math.min(deviceBytes, most) },
        { index, speed: hostSpeed, bytes: Math.min(capacity - deviceBytes, most) },
      ];
    })
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.speed - a.speed);
  const isMember = new Uint8Array(list.length);
  return (members) => {
    for (const index of members) isMember[index] = 1;
    let left = total;
    let ms = 0;
    let tier = 0;
    // Equal speeds are summed before they are divided, so that equal sets have equal floors to the last bit.
    for (let place = 0; place < banks.length && left > 0; place += 1) {
      const bank = banks[place];
      if (bank === undefined) break;
      if (isMember[bank.index] === 1) tier += bank.bytes;
      if (tier === 0 || banks[place + 1]?.speed === bank.speed) continue;
      const taken = Math.min(left, tier);
      ms += (taken / bank.speed) * 1000;
      left -= taken;
      tier = 0;
    }
    for (const index of members) isMember[index] = 0;
    return ms;
  };
}
