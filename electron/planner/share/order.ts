import { byMemory, type Candidate, compareText } from '../admit/candidate.ts';
import type { Links } from '../admit/links.ts';
import type { Packing } from '../pack/packing.ts';

/** Steps after which the search for an unbroken chain gives up. */
const patience = 2_000;

/**
 * The order of the stages where every member takes part: the order that the user fixed, else a nearest-neighbour chain
 * over measured round trips that starts at the coordinator, else by address. Members that no unbroken chain can take in
 * are left out.
 */
export function order(candidates: readonly Candidate[], packing: Packing): { chain: Candidate[]; cutOff: Candidate[] } {
  const { fixedOrder, links } = packing;
  const byAddress = [...candidates].sort((a, b) => compareText(a.address, b.address));
  const place = (candidate: Candidate) => fixedOrder?.indexOf(candidate.address) ?? 0;
  const listed = fixedOrder === null ? byAddress : byAddress.sort((a, b) => place(a) - place(b));
  const neighbours = neighboursIn(listed, packing, fixedOrder === null && links.measured);
  const remaining = new Set(listed);
  const cutOff: Candidate[] = [];
  while (remaining.size > 0) {
    const chain = unbroken(remaining, neighbours, packing);
    if (chain !== null) return { chain, cutOff };
    const leaves = loneliest([...remaining], packing);
    remaining.delete(leaves);
    cutOff.push(leaves);
  }
  return { chain: [], cutOff };
}

/** Who may come after a member (for null: first in the chain), the one to try first in front. */
type Neighbours = (from: Candidate | null) => readonly Candidate[];

function neighboursIn(
  listed: readonly Candidate[],
  { links, coordinator, fixedOrder }: Packing,
  nearest: boolean,
): Neighbours {
  const known = new Map<string | null, readonly Candidate[]>();
  const find = (from: string | null): readonly Candidate[] => {
    const reached = listed.filter(({ address }) => from === null || links.usable(from, address));
    // The user's order has no choices: only whoever comes next will do.
    if (fixedOrder !== null || !nearest || from === null) return reached;
    const distances = new Map(reached.map(({ address }) => [address, distance(from, address, links)]));
    const away = ({ address }: Candidate) => distances.get(address) ?? Number.POSITIVE_INFINITY;
    // Equally near by measurement: more memory first. Unmeasured: by address, as they are listed.
    return reached.sort((a, b) => {
      if (away(a) !== away(b)) return away(a) - away(b);
      return away(a) === Number.POSITIVE_INFINITY ? compareText(a.address, b.address) : byMemory(a, b);
    });
  };
  return (candidate) => {
    const from = candidate?.address ?? coordinator;
    const list = known.get(from) ?? find(from);
    known.set(from, list);
    return list;
  };
}

function distance(from: string, to: string, links: Links): number {
  return from === to ? -1 : (links.rttMs(from, to) ?? Number.POSITIVE_INFINITY);
}

function unbroken(
  members: ReadonlySet<Candidate>,
  neighbours: Neighbours,
  { links, coordinator, fixedOrder }: Packing,
): Candidate[] | null {
  const chain: Candidate[] = [];
  const left = new Set(members);
  let steps = 0;
  const extend = (): boolean => {
    const last = chain.at(-1) ?? null;
    if (left.size === 0) {
      return last !== null && (coordinator === null || links.usable(last.address, coordinator));
    }
    const [next] = left;
    const choices = neighbours(last).filter((each) => left.has(each) && (fixedOrder === null || each === next));
    for (const choice of choices) {
      steps += 1;
      if (steps > patience) return false;
      chain.push(choice);
      left.delete(choice);
      if (extend()) return true;
      chain.pop();
      left.add(choice);
    }
    return false;
  };
  return extend() ? chain : null;
}

/** The member with the fewest ways in and out, of equal ones the smallest. */
function loneliest(members: readonly Candidate[], { links }: Packing): Candidate {
  const ways = new Map(
    members.map((member) => [
      member,
      members.filter(({ address }) => links.usable(address, member.address)).length +
        members.filter(({ address }) => links.usable(member.address, address)).length,
    ]),
  );
  return members.reduce((a, b) => {
    const fewer = (ways.get(b) ?? 0) - (ways.get(a) ?? 0) || byMemory(a, b);
    return fewer < 0 ? b : a;
  });
}
