/** A claim on layers: `weight` decides the share, `most` how many it can hold. */
export interface Claim {
  address: string;
  weight: number;
  most: number;
}

/**
 * Deals `layers` among claims by largest remainder of their weights. Every claim gets one at least, the excess taken from
 * the largest, and none more than it can hold; what a full one leaves is dealt among the others by weight. Ties go to
 * more weight, then to the lower address. Needs as many layers as claims and room for all of them. In the order of the claims.
 * Hamilton's method: https://en.wikipedia.org/wiki/Quota_method
 */
export function apportion(claims: readonly Claim[], layers: number): number[] {
  const counts = claims.map(() => 0);
  const ranked = claims
    .map((claim, index) => ({ ...claim, index }))
    .sort((a, b) => b.weight - a.weight || (a.address < b.address ? -1 : 1));

  // Whoever cannot hold its quota is full; the others share what is left, so their quotas grow: repeat.
  let open = ranked;
  let left = layers;
  let quotas = quotasOf(open, left);
  for (;;) {
    const full = open.filter(({ index, most }) => (quotas.get(index) ?? 0) > most);
    if (full.length === 0) break;
    for (const { index, most } of full) {
      counts[index] = most;
      left -= most;
    }
    open = open.filter((claim) => !full.includes(claim));
    quotas = quotasOf(open, left);
  }

  for (const { index } of open) {
    const whole = Math.max(1, wholePart(quotas.get(index) ?? 0));
    counts[index] = whole;
    left -= whole;
  }
  const missing = (claim: { index: number }) => (quotas.get(claim.index) ?? 0) - (counts[claim.index] ?? 0);
  while (left > 0) {
    const takers = open.filter(({ index, most }) => (counts[index] ?? 0) < most);
    const [first] = takers;
    if (first === undefined) break;
    const taker = takers.reduce((a, b) => (missing(b) > missing(a) + tolerance ? b : a), first);
    counts[taker.index] = (counts[taker.index] ?? 0) + 1;
    left -= 1;
  }
  while (left < 0) {
    const giver = ranked.reduce((a, b) => ((counts[b.index] ?? 0) > (counts[a.index] ?? 0) ? b : a));
    counts[giver.index] = (counts[giver.index] ?? 0) - 1;
    left += 1;
  }
  return counts;
}

/** Quotients closer than this are equal: 40.5 must tie with 40.5 however it was computed. */
const tolerance = 1e-9;

function wholePart(quota: number): number {
  return Math.floor(quota + tolerance);
}

function quotasOf(claims: readonly (Claim & { index: number })[], layers: number): Map<number, number> {
  const total = claims.reduce((sum, { weight }) => sum + weight, 0);
  return new Map(claims.map(({ index, weight }) => [index, (layers * weight) / total]));
}
