import { byStrength, type Candidate } from '../admit/candidate.ts';
import type { Reach } from '../costs/reach.ts';
import type { Packing } from './packing.ts';

/** Members tried for either end of the chain: two may be the best for both. */
const triedForAnEnd = 3;

/**
 * A chain of all these members that holds the model, where everyone may stand anywhere: the ends go to those that lose
 * least to the embedding and to the head, the strongest come first between them. Finds one wherever there is one if all
 * parts of the model are equal.
 */
export function openChain(members: readonly Candidate[], { costs, reachOf }: Packing): Candidate[] | null {
  const parts = costs.boundaries.length - 1;
  const strongest = members.map((candidate) => ({ candidate, reach: reachOf(candidate.capacity) }));
  strongest.sort((a, b) => byStrength(a.candidate, b.candidate));
  const bestFor = (held: (reach: Reach) => number) =>
    strongest
      .filter(({ reach }) => held(reach) > 0)
      .sort((a, b) => a.reach.mostParts - held(a.reach) - (b.reach.mostParts - held(b.reach)))
      .slice(0, triedForAnEnd);
  const lasts = bestFor((reach) => partsAtTheEnd(reach, parts));
  for (const first of bestFor((reach) => reach.to(0, parts))) {
    for (const last of lasts) {
      if (first === last) continue;
      const chain = [first, ...strongest.filter((each) => each !== first && each !== last), last];
      if (holds(chain, parts)) return chain.map(({ candidate }) => candidate);
    }
  }
  return null;
}

/** The most parts that fit at the end of the model, with the head. */
function partsAtTheEnd(reach: Reach, parts: number): number {
  let from = parts;
  while (from > 0 && reach.to(from - 1, parts) === parts) from -= 1;
  return parts - from;
}

function holds(chain: readonly { reach: Reach }[], parts: number): boolean {
  let at = 0;
  for (const [position, { reach }] of chain.entries()) {
    const next = reach.to(at, parts - (chain.length - 1 - position));
    if (next === at) return false;
    at = next;
  }
  return at === parts;
}
