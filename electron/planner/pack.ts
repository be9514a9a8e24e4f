import { byMemory, byStrength, type Candidate } from './candidate.ts';
import { deepChain } from './deepChain.ts';
import { covers } from './fewestStages.ts';
import { exactLimit } from './memberSets.ts';
import type { Packing, Stage } from './packing.ts';
import { ringOf } from './ring.ts';
import { soonest, soonestLed } from './soonest.ts';

/** Splits that are compared for each pipeline where the room is too large to compare all. */
const splitsInLargeRooms = 16;
/** Members that a room too large for an exact search is narrowed down to, more where more stages are needed. */
const shortlistSize = 8;

/**
 * The pipeline of fewest stages, and of those the one that computes a token soonest. Null where these candidates cannot
 * hold the model. Exact for up to `exactLimit` candidates. A larger room is first narrowed down to its largest and
 * fastest members, which costs no hop where everyone reaches everyone; ten stages and more are laid by `deepChain`.
 */
export function pack(
  candidates: readonly Candidate[],
  packing: Packing,
  limits: { least: number; most: number },
): Stage[] | null {
  const ranked = [...candidates].sort(byMemory);
  const parts = packing.costs.boundaries.length - 1;
  const most = Math.min(limits.most, ranked.length, parts);
  const least = Math.max(limits.least, fewestBySize(ranked, packing));
  if (least > most) return null;

  const isWhole = ranked.length <= exactLimit;
  const list = isWhole ? ranked : shortlist(ranked, packing, least);
  const ring = ringOf(list, packing);
  const patience = isWhole ? Number.POSITIVE_INFINITY : splitsInLargeRooms;
  const searched = Math.min(most, isWhole ? exactLimit : exactLimit - 1);
  for (let count = least; count <= searched; count += 1) {
    const stages = soonest(covers(list, packing, ring, count), list, packing, ring, patience);
    if (stages !== null) return stages;
    if (isWhole || ring.open) continue;
    const chain = deepChain(ranked, packing, ringOf(ranked, packing), count);
    if (chain !== null) return soonestLed(chain, ranked, packing);
  }
  if (isWhole || most <= searched) return null;
  const wholeRing = ringOf(ranked, packing);
  for (let count = Math.max(least, searched + 1); count <= most; count += 1) {
    const chain = deepChain(ranked, packing, wholeRing, count);
    if (chain !== null) return soonestLed(chain, ranked, packing);
  }
  return null;
}

/** A lower bound: so many of the largest members would do if each stood where it holds most. */
function fewestBySize(ranked: readonly Candidate[], { costs, reachOf }: Packing): number {
  let left = costs.boundaries.length - 1;
  for (const [index, { capacity }] of ranked.entries()) {
    left -= reachOf(capacity).mostParts;
    if (left <= 0) return index + 1;
  }
  return ranked.length + 1;
}

/** The members worth an exact search: the largest, which decide the number of stages, the coordinator, the fastest. */
function shortlist(ranked: readonly Candidate[], { coordinator }: Packing, least: number): Candidate[] {
  const size = Math.min(exactLimit, Math.max(shortlistSize, least + 2));
  const chosen = new Set(ranked.slice(0, Math.min(exactLimit - 1, Math.max(shortlistSize / 2, least + 1))));
  const leader = ranked.find(({ address }) => address === coordinator);
  if (leader !== undefined && chosen.size < size) chosen.add(leader);
  for (const candidate of [...ranked].sort(byStrength)) {
    if (chosen.size >= size) break;
    chosen.add(candidate);
  }
  return ranked.filter((candidate) => chosen.has(candidate));
}
