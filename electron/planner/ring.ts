import type { Candidate } from './candidate.ts';
import type { Packing } from './packing.ts';

/** Bytes of the token ids that enter and leave a pipeline for one token. */
const tokenIdBytes = 4;

/** Who may stand where in a ring, and what its hops cost. Members go by their index in the list that it was made of. */
export interface Ring {
  mayStart(first: number): boolean;
  mayFollow(before: number, after: number): boolean;
  mayFinish(last: number): boolean;
  /** Milliseconds that one token spends between the machines of a ring in this order. */
  latencyMs(order: readonly number[]): number;
  /** Never more than the latency of any order of these members. */
  leastLatencyMs(members: readonly number[]): number;
}

/** Reads the rules of coordinator -> first, each stage -> next, last -> coordinator. */
export function ringOf(candidates: readonly Candidate[], packing: Packing): Ring {
  const { links, coordinator, activationBytes, fixedOrder } = packing;
  const addresses = candidates.map(({ address }) => address);
  const places = fixedOrder === null ? null : addresses.map((address) => fixedOrder.indexOf(address));
  const size = addresses.length;
  const follows = new Uint8Array(size * size);
  const hopMs = new Float64Array(size * size);
  const entry = new Float64Array(size);
  const exit = new Float64Array(size);
  const starts = new Uint8Array(size).fill(1);
  const finishes = new Uint8Array(size).fill(1);
  addresses.forEach((from, i) => {
    if (coordinator !== null) {
      starts[i] = Number(links.usable(coordinator, from));
      finishes[i] = Number(links.usable(from, coordinator));
      entry[i] = links.oneWayMs(coordinator, from, tokenIdBytes);
      exit[i] = links.oneWayMs(from, coordinator, tokenIdBytes);
    }
    addresses.forEach((to, j) => {
      const inOrder = places === null || (places[i] ?? 0) < (places[j] ?? 0);
      follows[i * size + j] = Number(i !== j && inOrder && links.usable(from, to));
      hopMs[i * size + j] = links.oneWayMs(from, to, activationBytes);
    });
  });
  const leader = addresses.indexOf(coordinator ?? '');
  const leastHop = leastOffDiagonal(hopMs, size);
  const leastEntry = coordinator === null ? 0 : Math.min(...entry.filter((_, index) => index !== leader));
  const leastExit = coordinator === null ? 0 : Math.min(...exit.filter((_, index) => index !== leader));
  return {
    mayStart: (first) => starts[first] === 1,
    mayFollow: (before, after) => follows[before * size + after] === 1,
    mayFinish: (last) => finishes[last] === 1,
    latencyMs: (order) => {
      const [first] = order;
      const last = order.at(-1);
      if (first === undefined || last === undefined) return 0;
      let total = (entry[first] ?? 0) + (exit[last] ?? 0);
      for (let i = 1; i < order.length; i += 1) total += hopMs[(order[i - 1] ?? 0) * size + (order[i] ?? 0)] ?? 0;
      return total;
    },
    leastLatencyMs: (members) => {
      if (members.length === 1) {
        const [only = 0] = members;
        return (entry[only] ?? 0) + (exit[only] ?? 0);
      }
      // A coordinator that holds a stage stands at one end, and saves the way to that end.
      const ends = members.includes(leader) ? Math.min(leastEntry, leastExit) : leastEntry + leastExit;
      return leastHop * (members.length - 1) + ends;
    },
  };
}

function leastOffDiagonal(matrix: Float64Array, size: number): number {
  return matrix.reduce((least, value, at) => (at % (size + 1) === 0 ? least : Math.min(least, value)), Infinity);
}
