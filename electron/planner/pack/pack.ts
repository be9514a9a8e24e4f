import { byMemory, byStrength, type Candidate } from '../admit/candidate.ts';
import { deepChain } from './deepChain.ts';
import { canTryAll, covers } from './fewestStages.ts';
import { exactLimit } from './memberSets.ts';
import type { Packing, Stage } from './packing.ts';
import { type Ring, ringOf } from './ring.ts';
import { soonest, soonestLed } from './soonest.ts';
import { undominated } from './undominated.ts';

/** Splits that are compared for each pipeline where the room is too large to compare all. */
const splitsInLargeRooms = 16;
/** Members that a room too large for an exact search is narrowed down to, more where more stages are needed. */
const shortlistSize = 8;
/** Stages up to which a room that was narrowed down so is searched for them. */
const mostStagesOfShortlist = 9;

/**
 * The pipeline of fewest stages, and of those the one that computes a token soonest. Null where these candidates cannot
 * hold the model. Exact for up to `exactLimit` candidates that may be of use: where everyone reaches everyone equally well,
 * whoever is surpassed by as many others as there are stages is of none. A larger room is first narrowed down to its
 * largest and fastest members, which costs no hop where everyone reaches everyone; ten stages and more are laid by
 * `deepChain`, and so is what goes beyond `canTryAll` where not everyone reaches everyone. A small room need not be searched for a pipeline of `limits.most` stages that takes more than `mostMs` for a
 * token.
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

  const small = ranked.length <= exactLimit ? { list: ranked, ring: ringOf(ranked, packing) } : null;
  let whole: Ring | null = null;
  return firstOf(least, most, (count) => {
    const { list, ring } = small ?? ofUse(ranked, packing, count) ?? {};
    if (list !== undefined && ring !== undefined && canTryAll(ring, list.length, count)) {
      const mostMs = count === limits.most ? limits.mostMs : undefined;
      return soonest(covers(list, packing, ring, count), list, packing, ring, {
        mostMs,
        patience: packing.patience,
      });
    }
    if (count <= mostStagesOfShortlist) {
      const few = shortlist(ranked, packing, count);
      const among = ringOf(few, packing);
      const stages = soonest(covers(few, packing, among, count), few, packing, among, {
        patience: Math.min(splitsInLargeRooms, packing.patience),
      });
      if (stages !== null || among.open) return stages;
    }
    whole ??= ringOf(ranked, packing);
    const chain = deepChain(ranked, packing, whole, count);
    return chain === null ? null : soonestLed(chain, ranked, packing);
  });
}

/** Whether one of the candidates can serve alone. */
export function fitsAlone(candidates: readonly Candidate[], { costs, links, coordinator }: Packing): boolean {
  const bytes = costs.bytes(0, costs.layerCount);
  return candidates.some(
    ({ address, capacity }) =>
      capacity >= bytes &&
      (coordinator === null || (links.usable(coordinator, address) && links.usable(address, coordinator))),
  );
}

/** The members of a large room that a chain of `count` may need, if they are few enough and all of them reach each other. */
function ofUse(ranked: readonly Candidate[], packing: Packing, count: number) {
  const { links, coordinator, fixedOrder } = packing;
  if (!links.unknown || fixedOrder !== null) return null;
  const needed = new Set(undominated(ranked, count));
  const leader = ranked.find(({ address }) => address === coordinator);
  if (leader !== undefined) needed.add(leader);
  if (needed.size > exactLimit) return null;
  const list = ranked.filter((candidate) => needed.has(candidate));
  const ring = ringOf(list, packing);
  return ring.open ? { list, ring } : null;
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
