import { type Candidate, nameOfAll } from '../admit/candidate.ts';
import { sizeOf } from './memberSets.ts';
import type { Packing } from './packing.ts';

/** Bytes of the token ids that enter and leave a pipeline for one token. */
export const tokenIdBytes = 4;

/** Who may stand where in a ring, and what its hops cost. Members go by their index in the list that it was made of. */
export interface Ring {
  /** Whether every order of every set is allowed. */
  open: boolean;
  mayStart(first: number): boolean;
  mayFollow(before: number, after: number): boolean;
  mayFinish(last: number): boolean;
  /** Milliseconds that one token spends between the machines of a ring in this order. */
  latencyMs(order: readonly number[]): number;
  /** Never more than the latency of any order of a set of `memberSets`. */
  leastLatencyMs(set: number): number;
  /** Equal for rings of the same members with the same rules. */
  shape(): string;
}

/** Reads the rules of coordinator -> first, each stage -> next, last -> coordinator. */
export function ringOf(candidates: readonly Candidate[], packing: Packing): Ring {
  const { links, coordinator } = packing;
  const addresses = candidates.map(({ address }) => address);
  const size = addresses.length;
  const key = nameOfAll(addresses);
  const known = packing.ways.get(key) ?? waysBetween(addresses, packing);
  packing.ways.set(key, known);
  const { mayFollow, hopMs, leastHop, open } = known;
  const entry = addresses.map((to) => (coordinator === null ? 0 : links.oneWayMs(coordinator, to, tokenIdBytes)));
  const exit = addresses.map((from) => (coordinator === null ? 0 : links.oneWayMs(from, coordinator, tokenIdBytes)));
  const starts = addresses.map((to) => coordinator === null || links.usable(coordinator, to));
  const finishes = addresses.map((from) => coordinator === null || links.usable(from, coordinator));
  const leader = coordinator === null ? -1 : addresses.indexOf(coordinator);
  const leastEntry = Math.min(...entry.filter((_, index) => index !== leader));
  const leastExit = Math.min(...exit.filter((_, index) => index !== leader));

  return {
    open: open && starts.every(Boolean) && finishes.every(Boolean),
    mayStart: (first) => starts[first] === true,
    mayFollow: (before, after) => mayFollow[before * size + after] === 1,
    mayFinish: (last) => finishes[last] === true,
    latencyMs: (order) => {
      let total = (entry[order[0] ?? 0] ?? 0) + (exit[order.at(-1) ?? 0] ?? 0);
      for (let i = 1; i < order.length; i += 1) total += hopMs[(order[i - 1] ?? 0) * size + (order[i] ?? 0)] ?? 0;
      return total;
    },
    leastLatencyMs: (set) => {
      const count = sizeOf(set);
      const only = size - 1 - Math.log2(set);
      if (count === 1) return (entry[only] ?? 0) + (exit[only] ?? 0);
      // A coordinator that holds a stage stands at one end, and saves the way to that end.
      const holds = leader >= 0 && (set & (1 << (size - 1 - leader))) !== 0;
      return leastHop * (count - 1) + (holds ? Math.min(leastEntry, leastExit) : leastEntry + leastExit);
    },
    shape: () => [key, ...starts.map(Number), ...finishes.map(Number)].join(' '),
  };
}

/** What holds between members whoever leads, by their index. */
export interface Ways {
  /** Whether everyone may follow everyone. */
  open: boolean;
  /** 1 where the second of a pair may follow the first. */
  mayFollow: Uint8Array;
  hopMs: Float64Array;
  leastHop: number;
}

function waysBetween(
  addresses: readonly string[],
  { links, activationBytes, fixedOrder }: Pick<Packing, 'links' | 'activationBytes' | 'fixedOrder'>,
): Ways {
  const size = addresses.length;
  const places = fixedOrder === null ? null : addresses.map((address) => fixedOrder.indexOf(address));
  const inOrder = (before: number, after: number) => places === null || (places[before] ?? 0) < (places[after] ?? 0);
  const mayFollow = new Uint8Array(size * size);
  let open = true;
  const hopMs = new Float64Array(size * size);
  let leastHop = Number.POSITIVE_INFINITY;
  addresses.forEach((from, i) => {
    addresses.forEach((to, j) => {
      if (i === j) return;
      const follows = inOrder(i, j) && links.usable(from, to);
      mayFollow[i * size + j] = Number(follows);
      open &&= follows;
      const ms = links.oneWayMs(from, to, activationBytes);
      hopMs[i * size + j] = ms;
      leastHop = Math.min(leastHop, ms);
    });
  });
  return { open, mayFollow, hopMs, leastHop };
}
