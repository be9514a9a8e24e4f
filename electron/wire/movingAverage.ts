/** An average in which the newest value weighs `weight`, of 1; the value itself where none came before. */
export function movingAverage(known: number | null, now: number, weight: number): number {
  return known === null ? now : known + (now - known) * weight;
}
