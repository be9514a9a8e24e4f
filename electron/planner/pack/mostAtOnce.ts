import { byMemory, type Candidate } from '../admit/candidate.ts';
import { memberSets } from './memberSets.ts';
import type { Packing, Stage } from './packing.ts';
import { readingFloor } from './readingFloor.ts';
import { ringOf } from './ring.ts';
import { soonest } from './soonest.ts';
import { type Team, teamsOf } from './teams.ts';
import { isMore, throughputOf } from './throughput.ts';

/** The most members of whom all ways to make pipelines are compared. */
export const replicaLimit = 10;

/**
 * Of all ways to make at most so many pipelines of at most `replicaLimit` members, one that serves most tokens in all slots, with
 * a first pipeline of as few hops and as soon an answer for one request as `first`. Nobody is part of a pipeline that could
 * do without. What can be made of some members can be made of more, so a newcomer costs nothing. Null where none serves
 * more than `ofMany`.
 */
export function mostAtOnce(
  first: Stage[],
  candidates: readonly Candidate[],
  packing: Packing,
  { longest, pipelines, ofMany }: { longest: number; pipelines: number; ofMany: number },
): Stage[][] | null {
  const ranked = [...candidates].sort(byMemory);
  const ring = ringOf(ranked, packing);
  const sizes = { least: first.length, most: Math.min(longest, ranked.length - first.length) };
  const floorMs = readingFloor(ranked, packing, 1);
  const teams = teamsOf(ranked, packing, ring, floorMs, sizes);
  const { ofOne } = throughputOf([first], packing);
  const made = new Map<number, Stage[]>();
  const stagesOf = ({ set, order }: Team) => {
    const stages =
      made.get(set) ?? soonest({ sets: [set], orderOf: () => order }, ranked, packing, ring, { floorMs }) ?? [];
    made.set(set, stages);
    return stages;
  };

  // What a team serves is worked out only where the best that it could serve would count.
  const known = packing.served;
  const optimist = {
    rateOf: (team: Team) => known.get(team.kind)?.ofMany ?? team.mostOfMany,
    mayLead: (team: Team) =>
      team.order.length === first.length && !isMore(ofOne, known.get(team.kind)?.ofOne ?? team.mostOfOne),
  };
  for (;;) {
    const found = bestTeams(teams, memberSets(ranked.length), pipelines, optimist);
    if (found === null || !isMore(found.rate, ofMany)) return null;
    const guessed = found.teams.filter(({ kind }) => !known.has(kind));
    for (const team of guessed) known.set(team.kind, throughputOf([stagesOf(team)], packing));
    if (guessed.length > 0) continue;
    const [head = [], ...others] = found.teams.map(stagesOf);
    const sooner = (a: Stage[], b: Stage[]) => throughputOf([b], packing).ofOne - throughputOf([a], packing).ofOne;
    return [head, ...others.sort((a, b) => a.length - b.length || sooner(a, b))];
  }
}

interface Choice {
  rate: number;
  teams: readonly Team[];
}

/**
 * The disjoint teams, at most `most`, that serve most together, first one that may lead; of equal ones those of early
 * members. Null where none may lead.
 */
function bestTeams(
  teams: readonly Team[],
  { all, bits }: { all: number; bits: readonly number[] },
  most: number,
  { rateOf, mayLead }: { rateOf: (team: Team) => number; mayLead: (team: Team) => boolean },
): Choice | null {
  // By the earliest member, which is the highest bit.
  const led = bits.map((bit) => teams.filter(({ set }) => (set & bit) !== 0 && set < bit * 2));
  const known = new Map<number, Choice>();
  const nobody: Choice = { rate: 0, teams: [] };
  const better = (best: Choice | null, team: Team, rest: Choice): Choice | null => {
    const rate = rateOf(team) + rest.rate;
    return best === null || isMore(rate, best.rate) ? { rate, teams: [team, ...rest.teams] } : best;
  };
  const bestOf = (left: number, wanted: number): Choice => {
    if (left === 0 || wanted === 0) return nobody;
    const key = Number.isFinite(wanted) ? left + wanted * (all + 1) : left;
    const before = known.get(key);
    if (before !== undefined) return before;
    const earliest = bits.findIndex((bit) => (left & bit) !== 0);
    let best: Choice | null = null;
    for (const team of led[earliest] ?? []) {
      if ((team.set & left) === team.set) best = better(best, team, bestOf(left ^ team.set, wanted - 1));
    }
    const without = bestOf(left ^ (bits[earliest] ?? 0), wanted);
    const chosen = best === null || isMore(without.rate, best.rate) ? without : best;
    known.set(key, chosen);
    return chosen;
  };
  let best: Choice | null = null;
  for (const team of teams) if (mayLead(team)) best = better(best, team, bestOf(all ^ team.set, most - 1));
  return best;
}
