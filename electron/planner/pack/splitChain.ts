import type { Candidate } from '../admit/candidate.ts';
import type { Reach } from '../costs/reach.ts';
import type { Packing, Stage } from './packing.ts';

/** How good a stage is: each goal is made least only where those before it are equal. */
export interface SplitGoal {
  /** Its sum over all stages. */
  sum(position: number, start: number, end: number): number;
  /** Its largest value of all stages. */
  worst(position: number, start: number, end: number): number;
  /** Its sum again: decides ties. */
  rank(position: number, start: number, end: number): number;
}

/** Sums of floats in another order differ by less than this. */
const tolerance = 1e-9;

/** Below 0 where a value is less than another, above 0 where it is more, and 0 where they are equal up to rounding. */
function compared(value: number, other: number): number {
  const difference = value - other;
  return Math.abs(difference) <= tolerance * Math.max(Math.abs(value), Math.abs(other)) ? 0 : difference;
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
  const { came, ...blank } = blankTables(width, count);
  let { now, next } = blank;
  now.sum[0] = 0;

  for (const [position, reach] of reaches.entries()) {
    next.sum.fill(Number.POSITIVE_INFINITY, 0, width);
    const most = parts - (count - 1 - position);
    const least = earliest[position + 1] ?? parts;
    for (let from = position; from < most; from += 1) {
      const soFar = now.sum[from] ?? Number.POSITIVE_INFINITY;
      if (soFar === Number.POSITIVE_INFINITY) continue;
      const end = reach.to(from, most);
      const start = boundaries[from] ?? 0;
      for (let to = Math.max(from + 1, least); to <= end; to += 1) {
        const stop = boundaries[to] ?? 0;
        const sum = soFar + goal.sum(position, start, stop);
        const known = next.sum[to] ?? Number.POSITIVE_INFINITY;
        let better = known === Number.POSITIVE_INFINITY ? -1 : compared(sum, known);
        if (better > 0) continue;
        const worst = Math.max(now.worst[from] ?? 0, goal.worst(position, start, stop));
        if (better === 0) better = compared(worst, next.worst[to] ?? 0);
        if (better > 0) continue;
        const rank = (now.rank[from] ?? 0) + goal.rank(position, start, stop);
        if (better === 0 && compared(rank, next.rank[to] ?? 0) >= 0) continue;
        next.sum[to] = sum;
        next.worst[to] = worst;
        next.rank[to] = rank;
        came[position * width + to] = from;
      }
    }
    [now, next] = [next, now];
  }
  if (now.sum[parts] === Number.POSITIVE_INFINITY) return null;

  const stages: Stage[] = [];
  let end = parts;
  for (const [position, candidate] of [...chain.entries()].reverse()) {
    const from = came[position * width + end] ?? 0;
    stages.unshift({ candidate, start: boundaries[from] ?? 0, end: boundaries[end] ?? 0 });
    end = from;
  }
  return stages;
}

interface Table {
  sum: Float64Array;
  worst: Float64Array;
  rank: Float64Array;
}

interface Tables {
  now: Table;
  next: Table;
  /** The boundary from which a stage got to another, by position. */
  came: Int16Array;
}

// A split runs to its end at once, so all of them share what they count on: small arrays cost more than small sums.
let tables: Tables = tablesFor(0, 0);

function blankTables(width: number, count: number): Tables {
  const { now, came } = tables;
  if (now.sum.length < width || came.length < count * width) {
    tables = tablesFor(Math.max(width, now.sum.length), Math.max(count * width, came.length));
  }
  tables.now.sum.fill(Number.POSITIVE_INFINITY, 0, width);
  tables.now.worst.fill(0, 0, width);
  tables.now.rank.fill(0, 0, width);
  return tables;
}

function tablesFor(width: number, cells: number): Tables {
  const table = () => ({
    sum: new Float64Array(width),
    worst: new Float64Array(width),
    rank: new Float64Array(width),
  });
  return { now: table(), next: table(), came: new Int16Array(cells) };
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
