import type { Packing, Stage } from '../pack/packing.ts';
import { tokenIdBytes } from '../pack/ring.ts';
import { stageMs } from './stageMs.ts';

/** Sequences of one micro-batch, where as many are in flight as there are stages. */
export function microBatch(slots: number, stages: number): { inFlight: number; sequences: number } {
  const inFlight = Math.min(slots, stages);
  return { inFlight, sequences: slots / inFlight };
}

/**
 * Milliseconds in which every slot gets one token. A step cannot come round sooner than it travels, nor sooner than the
 * slowest stage or link has served all the others.
 */
export function roundMs(stages: readonly Stage[], packing: Packing): number {
  const { costs, links, coordinator, activationBytes, slots } = packing;
  const { inFlight, sequences } = microBatch(slots, stages.length);
  const bytes = sequences * activationBytes;
  let travelMs = 0;
  let slowestMs = 0;
  let before = coordinator;
  for (const [index, { candidate, start, end }] of stages.entries()) {
    const { address } = candidate;
    const busyMs = stageMs(candidate, costs, start, end, sequences);
    travelMs += busyMs;
    slowestMs = Math.max(slowestMs, busyMs);
    if (before !== null) {
      travelMs += links.oneWayMs(before, address, index === 0 ? tokenIdBytes : bytes);
      if (index > 0) slowestMs = Math.max(slowestMs, links.transferMs(before, address, bytes));
    }
    before = address;
  }
  if (coordinator !== null && before !== null) travelMs += links.oneWayMs(before, coordinator, tokenIdBytes);
  return Math.max(travelMs, inFlight * slowestMs);
}
