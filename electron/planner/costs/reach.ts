import type { RangeCosts } from './rangeCosts.ts';

/**
 * How far a member of some capacity gets. Boundaries go by their index in `costs.boundaries`; a stage that cannot hold
 * the part behind its start ends where it starts.
 */
export interface Reach {
  /** The furthest boundary when the stage starts at boundary `from`, at most `most`. */
  to(from: number, most: number): number;
  /** The most parts of the model that fit anywhere. */
  mostParts: number;
  /** The most bytes that a stage there can read for one token. */
  mostRead: number;
}

/** The reach for a capacity in bytes; each is worked out once. */
export type ReachOf = (capacity: number) => Reach;

/** Prepares to tell how far any member gets in a model. */
export function reachIn(costs: RangeCosts): ReachOf {
  const known = new Map<number, Reach>();
  return (capacity) => {
    const reach = known.get(capacity) ?? reachOf(capacity, costs);
    known.set(capacity, reach);
    return reach;
  };
}

function reachOf(capacity: number, costs: RangeCosts): Reach {
  const { boundaries } = costs;
  const parts = boundaries.length - 1;
  const at = (index: number) => boundaries[index] ?? 0;
  // The last part counts only together with the output tensors, so it is not part of the search for the others.
  const inner = new Int16Array(parts);
  const finishes = new Uint8Array(parts);
  let mostParts = 0;
  let mostRead = 0;
  let end = 0;
  for (let from = 0; from < parts; from += 1) {
    end = Math.max(end, from);
    // A later start costs less, so the end never moves back.
    while (end + 1 < parts && costs.bytes(at(from), at(end + 1)) <= capacity) end += 1;
    inner[from] = end;
    finishes[from] = Number(costs.bytes(at(from), at(parts)) <= capacity);
    const furthest = finishes[from] === 1 ? parts : end;
    mostParts = Math.max(mostParts, furthest - from);
    mostRead = Math.max(mostRead, costs.read(at(from), at(furthest), 1));
  }
  return {
    mostParts,
    mostRead,
    to: (from, most) => {
      if (most === parts && finishes[from] === 1) return parts;
      return Math.min(inner[from] ?? from, most);
    },
  };
}
