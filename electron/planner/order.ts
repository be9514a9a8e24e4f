import { byMemory, type Candidate, compareText } from './candidate.ts';
import type { Packing } from './packing.ts';

/** Steps after which the search for an unbroken chain gives up. */
const patience = 20_000;

/**
 * The order of the stages where every member takes part: the order that the user fixed, else a nearest-neighbour chain
 * over measured round trips that starts at the coordinator, else by address. Members that no unbroken chain can take in
 * are left out.
 */
export function order(candidates: readonly Candidate[], packing: Packing): { chain: Candidate[]; cutOff: Candidate[] } {
  const { fixedOrder, links, coordinator } = packing;
  const byAddress = [...candidates].sort((a, b) => compareText(a.address, b.address));
  const place = (candidate: Candidate) => fixedOrder?.indexOf(candidate.address) ?? 0;
  const listed = fixedOrder === null ? byAddress : byAddress.sort((a, b) => place(a) - place(b));
  const nearest = fixedOrder === null && links.measured;

  const remaining = [...listed];
  const cutOff: Candidate[] = [];
  while (remaining.length > 0) {
    const chain = unbroken(remaining, packing, nearest ? coordinator : null, nearest);
    if (chain !== null) return { chain, cutOff };
    // The member with the fewest ways in and out goes first, of equal ones the smallest.
    const ways = (member: Candidate) =>
      remaining.filter(({ address }) => links.usable(address, member.address)).length +
      remaining.filter(({ address }) => links.usable(member.address, address)).length;
    const loneliest = remaining.reduce((a, b) => {
      const more = ways(b) - ways(a) || -byMemory(a, b);
      return more < 0 ? b : a;
    });
    remaining.splice(remaining.indexOf(loneliest), 1);
    cutOff.push(loneliest);
  }
  return { chain: [], cutOff };
}

function unbroken(
  members: readonly Candidate[],
  { links, coordinator, fixedOrder }: Packing,
  head: string | null,
  nearest: boolean,
): Candidate[] | null {
  const chain: Candidate[] = [];
  const left = new Set(members);
  let steps = 0;

  const distance = (from: string | null, to: Candidate) => {
    if (from === null) return Number.POSITIVE_INFINITY;
    return from === to.address ? -1 : (links.rttMs(from, to.address) ?? Number.POSITIVE_INFINITY);
  };
  const choices = (from: string | null): Candidate[] => {
    if (fixedOrder !== null) return [...left].slice(0, 1);
    if (!nearest) return [...left];
    return [...left].sort((a, b) => {
      const [near, far] = [distance(from, a), distance(from, b)];
      if (near !== far) return near - far;
      // Measured and equally near: more memory first. Unmeasured: by address.
      return near === Number.POSITIVE_INFINITY ? compareText(a.address, b.address) : byMemory(a, b);
    });
  };
  const extend = (): boolean => {
    const last = chain.at(-1);
    if (left.size === 0) {
      return last !== undefined && (coordinator === null || links.usable(last.address, coordinator));
    }
    for (const next of choices(last?.address ?? head)) {
      const from = last?.address ?? coordinator;
      if (from !== null && !links.usable(from, next.address)) continue;
      steps += 1;
      if (steps > patience) return false;
      chain.push(next);
      left.delete(next);
      if (extend()) return true;
      chain.pop();
      restore(left, next, members);
    }
    return false;
  };
  return extend() ? chain : null;
}

/** Puts a member back where it stood, so that the order of the set stays that of the list. */
function restore(left: Set<Candidate>, member: Candidate, members: readonly Candidate[]): void {
  left.add(member);
  const again = members.filter((candidate) => left.has(candidate));
  left.clear();
  for (const candidate of again) left.add(candidate);
}
