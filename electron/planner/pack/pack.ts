import { byMemory, byStrength, type Candidate } from '../admit/candidate.ts';
import { deepChain } from './deepChain.ts';
import { covers } from './fewestStages.ts';
import { exactLimit } from './memberSets.ts';
import type { Packing, Stage } from './packing.ts';
import { type Ring, ringOf } from './ring.ts';
import { soonest, soonestLed } from './soonest.ts';

/** Splits that are compared for each pipeline where the room is too large to compare all. */
const splitsInLargeRooms = 16;
/** Members that a room too large for an exact search is narrowed down to, more where more stages are needed. */
const shortlistSize = 8;

/**
 * The pipeline of fewest stages, and of those the one that computes a token soonest. Null where these candidates cannot
 * hold the model. Exact for up to `exactLimit` candidates. A larger room is first narrowed down to its largest and
 * fastest members, which costs no hop where everyone reaches everyone; ten stages and more are laid by `deepChain`.
 * A small room need not be searched for a pipeline of `limits.most` stages that takes more than `mostMs` for a token.
 */
export function pack(
  candidates: readonly Candidate[],
  packing: Packing,
  limits: { least: number; most: number; mostMs?: number | undefined },
): Stage[] | null {
  const ranked = [...candidates].sort(byMemory);
  const parts = packing.costs.boundaries.length - 1;
  const most = Math.min(limits.most, ranked.length, parts);
  const least = Math.max(limits.least, fewestBySize(ranked, packing));
  if (least > most) return null;

  if (ranked.length <= exactLimit) {
    const ring = ringOf(ranked, packing);
    return firstOf(least, most, (count) =>
      soonest(covers(ranked, packing, ring, count), ranked, packing, ring, {
        mostMs: count === limits.most ? limits.mostMs : undefined,
      }),
    );
  }
  let whole: Ring | null = null;
  return firstOf(least, most, (count) => {
    if (count < exactLimit) {
      const list = shortlist(ranked, packing, count);
      const ring = ringOf(list, packing);
      const stages = soonest(covers(list, packing, ring, count), list, packing, ring, { patience: splitsInLargeRooms });
      if (stages !== null || ring.open) return stages;
    }
    whole ??= ringOf(ranked, packing);
    const chain = deepChain(ranked, packing, whole, count);
    return chain === null ? null : soonestLed(chain, ranked, packing);
  });
}

function firstOf(least: number, most: number, find: (count: number) => Stage[] | null): Stage[] | null {
  for (let count = least; count <= most; count += 1) {
    const found = find(count);
    if (found !== null) return found;
  }
  return null;
}

/** A lower bound: so many of the largest members would do if each stood where it holds most. */
export function fewestBySize(
  ranked: readonly Candidate[],
  { costs, reachOf }: Pick<Packing, 'costs' | 'reachOf'>,
): number {
  let left = costs.boundaries.length - 1;
  for (const [index, { capacity }] of ranked.entries()) {
    left -= reachOf(capacity).mostParts;
    if (left <= 0) return index + 1;
  }
  return ranked.length + 1;
}

/** The members worth an exact search: the largest, which decide the number of stages, the coordinator, the fastest. */
function shortlist(ranked: readonly Candidate[], { coordinator }: Packing, count: number): Candidate[] {
  const size = Math.max(shortlistSize, count + 1);
  const chosen = new Set(ranked.slice(0, Math.max(shortlistSize / 2, count)));
  const leader = ranked.find(({ address }) => address === coordinator);
  if (leader !== undefined) chosen.add(leader);
  for (const candidate of [...ranked].sort(byStrength)) {
    if (chosen.size >= size) break;
    chosen.add(candidate);
  }
  return ranked.filter((candidate) => chosen.has(candidate));
}
