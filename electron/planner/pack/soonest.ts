import { byMemory, byStrength, type Candidate, nameOfAll } from '../admit/candidate.ts';
import { microBatch, roundMs } from '../predict/roundMs.ts';
import { stageMs } from '../predict/stageMs.ts';
import type { Covers } from './covers.ts';
import { sizeOf } from './memberSets.ts';
import type { Packing, Stage } from './packing.ts';
import { type Floor, readingFloor } from './readingFloor.ts';
import { type Ring, ringOf } from './ring.ts';
import { splitChain } from './splitChain.ts';

/** Sets of up to this many members are tried in every order. */
export const allOrders = 4;
/** Cells of splits that are worked out for sets that only tie with the best, in small rooms enough for all of them. */
const cellsForTies = 60_000;
/** Predicted times that differ by less are equal. */
const tolerance = 1e-9;

interface Bounds {
  /** Splits that are worked out. */
  patience?: number | undefined;
  /** Milliseconds for one token beyond which no plan is of use. */
  mostMs?: number | undefined;
  /** `readingFloor` of the list for one sequence, where it is at hand. */
  floorMs?: Floor | undefined;
}

/**
 * Of the sets that can hold the model, the members, order and split that compute one token soonest, and of equally soon ones
 * those that serve most tokens in all slots; null for no set. At most `patience` splits are worked out, the most promising
 * first, and as many of ties as `cellsForTies` allows.
 */
export function soonest(
  found: Covers,
  list: readonly Candidate[],
  packing: Packing,
  ring: Ring,
  {
    patience = Number.POSITIVE_INFINITY,
    mostMs = Number.POSITIVE_INFINITY,
    floorMs = readingFloor(list, packing, 1),
  }: Bounds = {},
): Stage[] | null {
  const weighed = found.sets
    .map((set) => ({ set, computeMs: floorMs(set), latencyMs: ring.leastLatencyMs(set) }))
    .filter(({ computeMs, latencyMs }) => !isSlower(computeMs + latencyMs, { ms: mostMs }))
    .sort((a, b) => inPicoseconds(a.computeMs + a.latencyMs) - inPicoseconds(b.computeMs + b.latencyMs));
  const parts = packing.costs.boundaries.length - 1;
  const tiesLeft = cellsForTies / (parts * parts * (found.sets[0] === undefined ? 1 : sizeOf(found.sets[0])));
  let splits = 0;
  let ties = 0;
  let best: Timed | null = null;
  const seen = new Set<string>();
  for (const { set, computeMs, latencyMs } of weighed) {
    if (splits === patience || isSlower(computeMs + latencyMs, best ?? { ms: mostMs })) break;
    if (ties > tiesLeft && mayOnlyTie(computeMs + latencyMs, best)) break;
    const order = found.orderOf(set);
    if (order === null) continue;
    for (const timed of ordersOf(order, list, ring)) {
      const leastMs = computeMs + timed.latencyMs;
      if (isSlower(leastMs, best ?? { ms: mostMs }) || splits === patience) break;
      if (mayOnlyTie(leastMs, best)) {
        ties += 1;
        if (ties > tiesLeft) break;
      }
      const chain = timed.order.flatMap((index) => list[index] ?? []);
      // Machines that are alike in all that counts make plans that are alike.
      const kind = packing.links.unknown ? kindOf(chain, packing) : null;
      if (kind !== null && seen.has(kind)) continue;
      if (kind !== null) seen.add(kind);
      const stages = splitByStrength(chain, packing);
      // An order without room is soon told, and must not use up the patience for those that have it.
      if (stages === null) continue;
      splits += 1;
      best = sooner(best, stages, packing, timed.latencyMs);
    }
  }
  return best?.stages ?? null;
}

interface Timed {
  stages: Stage[];
  ms: number;
  roundMs: number;
}

/** Times in sums of different order differ in their last bits: so rounded, equal ones keep the order that they come in. */
function inPicoseconds(ms: number): number {
  return Math.round(ms * 1e9);
}

function isSlower(ms: number, best: { ms: number } | null): boolean {
  return best !== null && ms > best.ms * (1 + tolerance);
}

function mayOnlyTie(leastMs: number, best: { ms: number } | null): boolean {
  return best !== null && !isSlower(best.ms, { ms: leastMs });
}

function kindOf(chain: readonly Candidate[], { coordinator }: Packing): string {
  return chain.map(({ address, kind }) => `${kind} ${address === coordinator}`).join('|');
}

/** The better of the best so far and a new split: sooner for one request, or as soon and quicker for many. */
function sooner(best: Timed | null, stages: Stage[], packing: Packing, latencyMs: number): Timed {
  const rival = {
    stages,
    ms: totalMs(stages, packing, latencyMs),
    roundMs: packing.balances ? roundMs(stages, packing) : 0,
  };
  if (best === null || isSlower(best.ms, rival)) return rival;
  return !isSlower(rival.ms, best) && rival.roundMs < best.roundMs * (1 - tolerance) ? rival : best;
}

/**
 * The soonest split of a chain that was found in a large room: as it is, or with the coordinator at one end, where it saves
 * a way, in the place of the member with the least memory if it is not part of the chain.
 */
export function soonestLed(
  chain: readonly Candidate[],
  ranked: readonly Candidate[],
  packing: Packing,
): Stage[] | null {
  let best: Timed | null = null;
  for (const members of [chain, ...ledBy(packing.coordinator, chain, ranked)]) {
    const ring = ringOf(members, packing);
    const order = members.map((_, index) => index);
    const stages = isRing(order, ring) ? splitByStrength(members, packing) : null;
    if (stages !== null) best = sooner(best, stages, packing, ring.latencyMs(order));
  }
  return best?.stages ?? null;
}

function ledBy(
  coordinator: string | null,
  chain: readonly Candidate[],
  ranked: readonly Candidate[],
): readonly (readonly Candidate[])[] {
  const leader = ranked.find(({ address }) => address === coordinator);
  if (leader === undefined) return [];
  const leaves = chain.includes(leader) ? leader : [...chain].sort(byMemory).at(-1);
  const others = chain.filter((candidate) => candidate !== leaves);
  return [
    [leader, ...others],
    [...others, leader],
  ];
}

function totalMs(stages: readonly Stage[], { costs }: Packing, latencyMs: number): number {
  return stages.reduce((sum, { candidate, start, end }) => sum + stageMs(candidate, costs, start, end, 1), latencyMs);
}

/**
 * Cuts a chain so that it computes a token soonest, which fills the fastest members to the brim; among equally fast ones so
 * that the slowest stage is quickest, and then the largest get the most. Null where the chain has no room.
 */
function splitByStrength(chain: readonly Candidate[], packing: Packing): Stage[] | null {
  const key = `${nameOfAll(chain.map(({ address }) => address))} ${chain.map(({ kind }) => kind).join(' ')}`;
  const known = packing.splits.get(key);
  if (known !== undefined) return known;
  const stages = newSplit(chain, packing);
  packing.splits.set(key, stages);
  return stages;
}

function newSplit(chain: readonly Candidate[], packing: Packing): Stage[] | null {
  const filled = [...chain].sort(byStrength);
  const ranks = chain.map((candidate) => filled.indexOf(candidate));
  const { sequences } = microBatch(packing.slots, chain.length);
  const msOf = (position: number, start: number, end: number, rows: number) => {
    const candidate = chain[position];
    return candidate === undefined ? 0 : stageMs(candidate, packing.costs, start, end, rows);
  };
  return splitChain(chain, packing, {
    sum: (position, start, end) => msOf(position, start, end, 1),
    worst: (position, start, end) => (packing.balances ? msOf(position, start, end, sequences) : 0),
    rank: (position, start, end) => (ranks[position] ?? 0) * (end - start),
  });
}

interface TimedOrder {
  order: readonly number[];
  latencyMs: number;
}

/** The orders worth a split, the quickest ring first, and of equal ones the strongest member first. */
function ordersOf(members: readonly number[], list: readonly Candidate[], ring: Ring): TimedOrder[] {
  const strongest = [...members].sort((a, b) => {
    const [left, right] = [list[a], list[b]];
    return left === undefined || right === undefined ? 0 : byStrength(left, right);
  });
  const orders = permutationsOf[strongest.length]?.map((places) => places.map((place) => strongest[place] ?? 0)) ?? [
    strongest,
    members,
  ];
  return orders
    .filter((order) => isRing(order, ring))
    .map((order) => ({ order, latencyMs: ring.latencyMs(order) }))
    .sort((a, b) => inPicoseconds(a.latencyMs) - inPicoseconds(b.latencyMs));
}

function isRing(order: readonly number[], ring: Ring): boolean {
  return order.every((member, place) => {
    const before = order[place - 1];
    const begins = before === undefined ? ring.mayStart(member) : ring.mayFollow(before, member);
    return begins && (place < order.length - 1 || ring.mayFinish(member));
  });
}

/** All orders of the first numbers, for up to `allOrders` of them. */
const permutationsOf: readonly number[][][] = Array.from({ length: allOrders + 1 }, (_, count) =>
  permutations([...Array(count).keys()]),
);

function permutations(items: readonly number[]): number[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item, index) =>
    permutations([...items.slice(0, index), ...items.slice(index + 1)]).map((rest) => [item, ...rest]),
  );
}
