import type { RangeCosts } from './rangeCosts.ts';

/**
 * The furthest boundary that a member of this capacity reaches when its stage starts at boundary `from`, at most `most`;
 * `from` itself when it can hold nothing there. Boundaries go by their index in `costs.boundaries`. The last one counts
 * only when it can be held together with the output tensors.
 */
export function furthest(costs: RangeCosts, capacity: number, from: number, most: number): number {
  const { boundaries } = costs;
  const start = boundaries[from] ?? 0;
  const fits = (index: number) => costs.bytes(start, boundaries[index] ?? 0) <= capacity;
  if (fits(most)) return most;
  // Short of `most`, the bytes only grow with the end, so the answer can be searched for.
  let low = from;
  let high = most - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
