import type { Candidate } from './candidate.ts';
import type { Packing, Stage } from './packing.ts';
import type { Reach } from './reach.ts';

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
 * Cuts the layers into one stage for each member of a chain, in its order, so that the goal is met best.
 * Null where the chain cannot hold the model.
 */
export function splitChain(chain: readonly Candidate[], { costs, reachOf }: Packing, goal: SplitGoal): Stage[] | null {
  const { boundaries } = costs;
  const parts = boundaries.length - 1;
  const count = chain.length;
  if (count === 0 || count > parts) return null;
  const reaches = chain.map(({ capacity }) => reachOf(capacity));
  const earliest = earliestStarts(reaches, parts);
  if (earliest[0] !== 0) return null;
  const width = parts + 1;
  let first = new Float64Array(width).fill(Number.POSITIVE_INFINITY);
  let second = new Float64Array(width);
  let nextFirst = new Float64Array(width);
  let nextSecond = new Float64Array(width);
  first[0] = 0;
  const came = new Int16Array(count * width).fill(-1);

  for (const [position, reach] of reaches.entries()) {
    nextFirst.fill(Number.POSITIVE_INFINITY);
    const most = parts - (count - 1 - position);
    const least = earliest[position + 1] ?? parts;
    for (let from = position; from < most; from += 1) {
      const soFar = first[from] ?? Number.POSITIVE_INFINITY;
      if (soFar === Number.POSITIVE_INFINITY) continue;
      const end = reach.to(from, most);
      for (let to = Math.max(from + 1, least); to <= end; to += 1) {
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
    [first, nextFirst] = [nextFirst, first];
    [second, nextSecond] = [nextSecond, second];
  }
  if (first[parts] === Number.POSITIVE_INFINITY) return null;

  const stages: Stage[] = [];
  let end = parts;
  for (const [position, candidate] of [...chain.entries()].reverse()) {
    const from = came[position * width + end] ?? 0;
    stages.unshift({ candidate, start: boundaries[from] ?? 0, end: boundaries[end] ?? 0 });
    end = from;
  }
  return stages;
}

/** For each position the first boundary from which it and those behind it can hold the rest, and `parts` for the end. */
function earliestStarts(reaches: readonly Reach[], parts: number): number[] {
  const starts = new Array<number>(reaches.length).fill(parts);
  let next = parts;
  for (const [position, reach] of [...reaches.entries()].reverse()) {
    const most = parts - (reaches.length - 1 - position);
    let from = position;
    while (from < parts && reach.to(from, most) < next) from += 1;
    starts[position] = from;
    next = from;
  }
  return starts;
}
