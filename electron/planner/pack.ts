import { byMemory, byStrength, type Candidate } from './candidate.ts';
import { deepChain } from './deepChain.ts';
import { type Cover, covers, exactLimit } from './fewestStages.ts';
import type { Packing, Stage } from './packing.ts';
import type { RangeCosts } from './rangeCosts.ts';
import { type Ring, ringOf } from './ring.ts';
import { splitChain } from './splitChain.ts';
import { stageMs } from './stageMs.ts';

/** Sets of up to this many members are tried in every order. */
const allOrders = 4;
/** Predicted times that differ by less are equal. */
const tolerance = 1e-9;

interface Limits {
  least: number;
  most: number;
}

/**
 * The pipeline of fewest stages, and of those the one that computes a token soonest. Null where these candidates cannot
 * hold the model. Exact for up to `exactLimit` candidates; a larger room is first narrowed down to its strongest and
 * fastest members.
 */
export function pack(candidates: readonly Candidate[], packing: Packing, limits: Limits): Stage[] | null {
  const ranked = [...candidates].sort(byMemory);
  const { costs } = packing;
  const most = Math.min(limits.most, ranked.length, costs.boundaries.length - 1);
  const least = Math.max(limits.least, fewestBySize(ranked, costs));
  if (least > most) return null;

  const list = ranked.length <= exactLimit ? ranked : shortlist(ranked, packing, least);
  const ring = ringOf(list, packing);
  for (let count = least; count <= Math.min(most, list.length); count += 1) {
    const found = covers(list, costs, ring, count);
    const best = soonest(found, list, costs, ring);
    if (best !== null) return best;
    if (list.length < ranked.length) {
      const chain = deepChain(ranked, costs, ringOf(ranked, packing), count);
      if (chain !== null) return split(chain, costs);
    }
  }
  if (list.length === ranked.length) return null;
  const wholeRing = ringOf(ranked, packing);
  for (let count = Math.max(least, list.length + 1); count <= most; count += 1) {
    const chain = deepChain(ranked, costs, wholeRing, count);
    if (chain !== null) return split(chain, costs);
  }
  return null;
}

/** A lower bound: so many of the largest members offer as many bytes as the model takes. */
function fewestBySize(ranked: readonly Candidate[], costs: RangeCosts): number {
  let left = costs.bytes(0, costs.layerCount);
  for (const [index, { capacity }] of ranked.entries()) {
    left -= capacity;
    if (left <= 0) return index + 1;
  }
  return ranked.length + 1;
}

/** The members worth an exact search: the largest, which decide the number of stages, the coordinator, the fastest. */
function shortlist(ranked: readonly Candidate[], { coordinator }: Packing, least: number): Candidate[] {
  const chosen = new Set(ranked.slice(0, Math.max(6, Math.min(least, exactLimit))));
  const leader = ranked.find(({ address }) => address === coordinator);
  if (leader !== undefined && chosen.size < exactLimit) chosen.add(leader);
  for (const candidate of [...ranked].sort(byStrength)) {
    if (chosen.size === exactLimit) break;
    chosen.add(candidate);
  }
  return ranked.filter((candidate) => chosen.has(candidate));
}

/** Of the members that can hold the model together, those and the order and split that compute one token soonest. */
function soonest(found: readonly Cover[], list: readonly Candidate[], costs: RangeCosts, ring: Ring): Stage[] | null {
  const weighed = found
    .map((cover) => ({
      cover,
      floorMs: computeFloor(membersOf(cover, list), costs) + ring.leastLatencyMs(cover.order),
    }))
    .sort((a, b) => a.floorMs - b.floorMs);
  let best: { stages: Stage[]; ms: number } | null = null;
  for (const { cover, floorMs } of weighed) {
    if (best !== null && floorMs >= best.ms * (1 - tolerance)) break;
    const floor = computeFloor(membersOf(cover, list), costs);
    for (const { order, latencyMs } of ordersOf(cover, list, ring)) {
      if (best !== null && floor + latencyMs >= best.ms * (1 - tolerance)) break;
      const stages = split(
        order.flatMap((index) => list[index] ?? []),
        costs,
      );
      if (stages === null) continue;
      const ms = latencyMs + stages.reduce((sum, stage) => sum + decodeMs(stage, costs), 0);
      if (best === null || ms < best.ms * (1 - tolerance)) best = { stages, ms };
    }
  }
  return best?.stages ?? null;
}

function membersOf(cover: Cover, list: readonly Candidate[]): Candidate[] {
  return cover.order.flatMap((index) => list[index] ?? []);
}

function decodeMs({ candidate, start, end }: Stage, costs: RangeCosts): number {
  return stageMs(candidate, costs, start, end, 1);
}

/** No split over these members reads faster: the fastest memory is taken to the last byte. */
function computeFloor(members: readonly Candidate[], costs: RangeCosts): number {
  const sizes = new Map<number, number>();
  const add = (speed: number, bytes: number) => sizes.set(speed, (sizes.get(speed) ?? 0) + bytes);
  for (const { deviceBytes, capacity, speed, hostSpeed } of members) {
    add(speed, deviceBytes);
    if (capacity > deviceBytes) add(hostSpeed, capacity - deviceBytes);
  }
  let left = costs.read(0, costs.layerCount, 1);
  let ms = 0;
  for (const [speed, bytes] of [...sizes].sort((a, b) => b[0] - a[0])) {
    const taken = Math.min(left, bytes);
    ms += (taken / speed) * 1000;
    left -= taken;
  }
  return ms;
}

interface TimedOrder {
  order: readonly number[];
  latencyMs: number;
}

/** The orders worth a split, the quickest ring first, and of equal ones the strongest member first. */
function ordersOf(cover: Cover, list: readonly Candidate[], ring: Ring): TimedOrder[] {
  const strongest = [...cover.order].sort((a, b) => {
    const left = list[a];
    const right = list[b];
    return left === undefined || right === undefined ? 0 : byStrength(left, right);
  });
  const orders = strongest.length <= allOrders ? permutations(strongest) : [strongest, cover.order];
  return orders
    .filter((order) => isRing(order, ring))
    .map((order) => ({ order, latencyMs: ring.latencyMs(order) }))
    .sort((a, b) => a.latencyMs - b.latencyMs);
}

function isRing(order: readonly number[], ring: Ring): boolean {
  return order.every((member, place) => {
    const before = order[place - 1];
    const begins = before === undefined ? ring.mayStart(member) : ring.mayFollow(before, member);
    return begins && (place < order.length - 1 || ring.mayFinish(member));
  });
}

function permutations(items: readonly number[]): number[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item, index) =>
    permutations([...items.slice(0, index), ...items.slice(index + 1)]).map((rest) => [item, ...rest]),
  );
}

/** Fills the fastest members of a chain to the brim; of equally fast ones the larger. */
function split(chain: readonly Candidate[], costs: RangeCosts): Stage[] | null {
  const ranks = new Map([...chain].sort(byStrength).map((candidate, rank) => [candidate, rank]));
  const rankOf = chain.map((candidate) => ranks.get(candidate) ?? 0);
  const ends = splitChain(chain, costs, {
    first: (position, start, end) => {
      const candidate = chain[position];
      return candidate === undefined ? 0 : stageMs(candidate, costs, start, end, 1);
    },
    second: (position, start, end) => (rankOf[position] ?? 0) * (end - start),
  });
  return ends === null ? null : stagesOf(chain, ends);
}

/** Puts a chain and the layers at which its stages end together. */
export function stagesOf(chain: readonly Candidate[], ends: readonly number[]): Stage[] {
  return chain.map((candidate, position) => ({
    candidate,
    start: ends[position - 1] ?? 0,
    end: ends[position] ?? 0,
  }));
}
