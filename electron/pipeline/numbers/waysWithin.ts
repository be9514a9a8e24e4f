/**
 * The ways of one step, ms, so that together they take no longer than the step itself was between processes: a link that is
 * asked by itself waits for busy processors too. As they are where one is not known.
 */
export function waysWithin(ways: readonly (number | null)[], networkMs: number): (number | null)[] {
  const sum = ways.reduce<number | null>((all, way) => (all === null || way === null ? null : all + way), 0);
  if (sum === null || sum <= networkMs) return [...ways];
  return ways.map((way) => (way === null ? null : (way * networkMs) / sum));
}
