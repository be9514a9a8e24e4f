import type { Packing, Stage } from '../pack/packing.ts';
import { tokenIdBytes } from '../pack/ring.ts';
import { stageMs } from './stageMs.ts';

/** Milliseconds that one token of one request takes from the coordinator through all stages and back. */
export function tokenMs(stages: readonly Stage[], { costs, links, coordinator, activationBytes }: Packing): number {
  let total = 0;
  let before = coordinator;
  for (const [index, { candidate, start, end }] of stages.entries()) {
    total += stageMs(candidate, costs, start, end, 1);
    const { address } = candidate;
    if (before !== null) total += links.oneWayMs(before, address, index === 0 ? tokenIdBytes : activationBytes);
    before = address;
  }
  return coordinator === null || before === null ? total : total + links.oneWayMs(before, coordinator, tokenIdBytes);
}
