import type { Candidate } from './candidate.ts';
import { furthest } from './furthest.ts';
import type { RangeCosts } from './rangeCosts.ts';
import type { Ring } from './ring.ts';

/** Members, as a bit set over the list that was searched, that can hold the model together, with one order that works. */
export interface Cover {
  set: number;
  /** Indexes into the list, in the order of the ring. */
  order: number[];
}

/** The most members that are searched exactly: every set of them, in every order. */
export const exactLimit = 10;

/**
 * All sets of exactly `count` of at most `exactLimit` candidates that hold the model, each with at least one part of it,
 * the strongest set first when the candidates are in order of strength. Exact: a stage that starts later ends no
 * earlier, so of all orders of a set that end with the same member only the furthest reach matters.
 */
export function covers(candidates: readonly Candidate[], costs: RangeCosts, ring: Ring, count: number): Cover[] {
  const size = candidates.length;
  const parts = costs.boundaries.length - 1;
  if (count > size || count > parts) return [];
  // reach[set * size + last]: boundary reached, 0 for none; came: the member before the last.
  const reach = new Int16Array((1 << size) * size);
  const came = new Int8Array((1 << size) * size).fill(-1);
  for (let level = 1; level <= count; level += 1) {
    const final = level === count;
    const most = parts - (count - level);
    for (const set of setsOf(level, size)) {
      for (let last = 0; last < size; last += 1) {
        if ((set & (1 << last)) === 0 || (final && !ring.mayFinish(last))) continue;
        let from = 0;
        let before = -1;
        if (level === 1) {
          if (!ring.mayStart(last)) continue;
        } else {
          const rest = set & ~(1 << last);
          for (let other = 0; other < size; other += 1) {
            const reached = reach[rest * size + other] ?? 0;
            if (reached > from && ring.mayFollow(other, last)) {
              from = reached;
              before = other;
            }
          }
          if (before < 0) continue;
        }
        const end = furthest(costs, candidates[last]?.capacity ?? 0, from, most);
        if (end > from) {
          reach[set * size + last] = end;
          came[set * size + last] = before;
        }
      }
    }
  }
  const found: Cover[] = [];
  for (const set of setsOf(count, size)) {
    for (let last = 0; last < size; last += 1) {
      if (reach[set * size + last] === parts && (set & (1 << last)) !== 0 && ring.mayFinish(last)) {
        found.push({ set, order: traceBack(came, set, last, size) });
        break;
      }
    }
  }
  return found;
}

function traceBack(came: Int8Array, set: number, last: number, size: number): number[] {
  const order: number[] = [];
  let rest = set;
  for (let member = last; member >= 0; ) {
    order.unshift(member);
    const before = came[rest * size + member] ?? -1;
    rest &= ~(1 << member);
    member = before;
  }
  return order;
}

/** All sets of `count` out of `size`, those of low indexes first. */
function* setsOf(count: number, size: number): Generator<number> {
  const chosen = Array.from({ length: count }, (_, index) => index);
  if (count > size) return;
  for (;;) {
    yield chosen.reduce((set, index) => set | (1 << index), 0);
    let place = count - 1;
    while (place >= 0 && chosen[place] === size - count + place) place -= 1;
    if (place < 0) return;
    chosen[place] = (chosen[place] ?? 0) + 1;
    for (let next = place + 1; next < count; next += 1) chosen[next] = (chosen[next - 1] ?? 0) + 1;
  }
}
