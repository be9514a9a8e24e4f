import type { Candidate } from './candidate.ts';
import { furthest } from './furthest.ts';
import type { RangeCosts } from './rangeCosts.ts';

/** How good a stage is; the sums over all stages are made least, the second only where the first is equal. */
export interface SplitGoal {
  first(position: number, start: number, end: number): number;
  second(position: number, start: number, end: number): number;
}

/** Sums of floats in another order differ by less than this. */
const tolerance = 1e-9;

/** Whether one pair of sums is better than another, up to rounding. */
export function isLess(first: number, second: number, thanFirst: number, thanSecond: number): boolean {
  const slack = tolerance * Math.max(Math.abs(first), Math.abs(thanFirst));
  if (first < thanFirst - slack) return true;
  return first <= thanFirst + slack && second < thanSecond - tolerance;
}

/**
 * Cuts the layers into one stage for each member of a chain, in its order, so that the goal is met best. Returns the
 * layer at which each stage ends, or null where the chain cannot hold the model.
 */
export function splitChain(chain: readonly Candidate[], costs: RangeCosts, goal: SplitGoal): number[] | null {
  const { boundaries } = costs;
  const parts = boundaries.length - 1;
  const count = chain.length;
  if (count === 0 || count > parts) return null;
  const width = parts + 1;
  let first = new Float64Array(width).fill(Number.POSITIVE_INFINITY);
  let second = new Float64Array(width);
  first[0] = 0;
  const came = new Int16Array(count * width).fill(-1);

  chain.forEach((member, position) => {
    const nextFirst = new Float64Array(width).fill(Number.POSITIVE_INFINITY);
    const nextSecond = new Float64Array(width);
    const last = position === count - 1;
    const most = parts - (count - 1 - position);
    for (let from = position; from < most; from += 1) {
      const soFar = first[from] ?? Number.POSITIVE_INFINITY;
      if (soFar === Number.POSITIVE_INFINITY) continue;
      const end = furthest(costs, member.capacity, from, most);
      if (last && end < parts) continue;
      for (let to = last ? parts : from + 1; to <= end; to += 1) {
        const start = boundaries[from] ?? 0;
        const stop = boundaries[to] ?? 0;
        const a = soFar + goal.first(position, start, stop);
        const b = (second[from] ?? 0) + goal.second(position, start, stop);
        const known = nextFirst[to] ?? Number.POSITIVE_INFINITY;
        if (known === Number.POSITIVE_INFINITY || isLess(a, b, known, nextSecond[to] ?? 0)) {
          nextFirst[to] = a;
          nextSecond[to] = b;
          came[position * width + to] = from;
        }
      }
    }
    first = nextFirst;
    second = nextSecond;
  });
  if (first[parts] === Number.POSITIVE_INFINITY) return null;

  const ends: number[] = [];
  for (let position = count - 1, at = parts; position >= 0; position -= 1) {
    ends.unshift(boundaries[at] ?? 0);
    at = came[position * width + at] ?? 0;
  }
  return ends;
}
