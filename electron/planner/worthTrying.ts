import type { Candidate } from './admit/candidate.ts';
import { fewLeaders } from './admit/lead.ts';
import { carriesActivations, type Member } from './member.ts';
import { exactLimit } from './pack/memberSets.ts';
import type { Packing } from './pack/packing.ts';
import { undominated } from './pack/undominated.ts';

/** Stages more than the least possible for which the leaders will still do. */
const furtherStages = 2;

/**
 * The members and leaders among whom the best plan is found, most preferred first; null in a room too large to try all of
 * them. In a large room in which everyone reaches everyone those are left out that others surpass in all that counts; and of
 * leaders that hold nothing one is as good as another.
 */
export function worthTrying(
  alike: readonly Candidate[],
  leaders: readonly (string | null)[],
  { links, fixedOrder }: Pick<Packing, 'links' | 'fixedOrder'>,
  fewest: number,
  asLeader: (member: Member) => Candidate,
): { holders: readonly Candidate[]; leaders: readonly (string | null)[] } | null {
  if (alike.length <= exactLimit && leaders.length <= exactLimit) return { holders: alike, leaders };
  const meetsAll = links.unknown && fixedOrder === null && Number.isFinite(fewest);
  const holders = meetsAll ? undominated(alike, fewest) : alike;
  if (holders.length > exactLimit) return null;
  if (!meetsAll || leaders.length === 1) return { holders, leaders: fewLeaders(leaders) };
  const mayLead = new Set(leaders);
  const inside = alike.filter(({ address }) => mayLead.has(address));
  const [reached, unreached] = [true, false].map((wanted) =>
    inside.filter(({ member }) => carriesActivations(member.reachability ?? 'LocalDirect') === wanted),
  );
  const useful = new Set<string | null>(
    [reached, unreached].flatMap((list = []) =>
      undominated(list, fewest + furtherStages, ({ member }) => asLeader(member)).map(({ address }) => address),
    ),
  );
  const bystander =
    leaders.findLast((leader) => !useful.has(leader) && reached?.some(({ address }) => address === leader)) ??
    leaders.find((leader) => !inside.some(({ address }) => address === leader));
  return { holders, leaders: leaders.filter((leader) => useful.has(leader) || leader === bystander) };
}
