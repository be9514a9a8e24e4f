import { type Candidate, compareText } from '../admit/candidate.ts';

/** What counts of a member, the more the better. */
type Traits = (candidate: Candidate) => readonly number[];

const traitsOf: Traits = ({ capacity, deviceBytes, speed, hostSpeed, flops }) => [
  capacity,
  deviceBytes,
  speed,
  hostSpeed,
  flops,
];

/**
 * The members that a chain of `count` may need where everyone reaches everyone equally well, in the order given: whoever is
 * surpassed by `count` others in all that counts can be replaced in any chain by one of those, for the better. Unlike a
 * number of the largest or fastest, this loses no chain that is best, so a newcomer cannot push the best one out. With
 * `led`, members are compared as leaders too.
 */
export function undominated(
  list: readonly Candidate[],
  count: number,
  led?: (candidate: Candidate) => Candidate,
): readonly Candidate[] {
  if (list.length <= count) return list;
  const rows = list.map((candidate) => ({
    candidate,
    traits: led === undefined ? traitsOf(candidate) : [...traitsOf(candidate), ...traitsOf(led(candidate))],
  }));
  // Whoever surpasses another comes before it, and those that are kept surpass all that the others do.
  rows.sort((a, b) => lexically(a.traits, b.traits) || compareText(a.candidate.address, b.candidate.address));
  const kept: typeof rows = [];
  for (const row of rows) {
    let better = 0;
    for (const other of kept) {
      if (surpasses(other.candidate, other.traits, row.candidate, row.traits)) better += 1;
      if (better === count) break;
    }
    if (better < count) kept.push(row);
  }
  const chosen = new Set(kept.map(({ candidate }) => candidate));
  return list.filter((candidate) => chosen.has(candidate));
}

function lexically(a: readonly number[], b: readonly number[]): number {
  const place = a.findIndex((value, index) => value !== b[index]);
  return place < 0 ? 0 : (b[place] ?? 0) - (a[place] ?? 0);
}

function surpasses(a: Candidate, traits: readonly number[], b: Candidate, others: readonly number[]): boolean {
  // A measured speed stands for arithmetic and plain RAM too; and memory beside a card that is quicker than the card is odd.
  if (a.isMeasured !== b.isMeasured || a.hostSpeed > a.speed) return false;
  return traits.every((value, index) => value >= (others[index] ?? 0));
}
