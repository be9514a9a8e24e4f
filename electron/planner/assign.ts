import { byMemory, type Candidate, candidateOf, compareText } from './admit/candidate.ts';
import { type Admission, absence, gates, type OfferOf, type Rejection } from './admit/gates.ts';
import { buildsOf, fewLeaders, leadersOf } from './admit/lead.ts';
import { linksOf } from './admit/links.ts';
import { type Aim, type Attempt, anyPlan, type BuildChoice, bestLead } from './bestLead.ts';
import { type RangeCosts, rangeCosts } from './costs/rangeCosts.ts';
import { reachIn } from './costs/reach.ts';
import type { Settings } from './costs/settings.ts';
import { deviceClassOf, type Member } from './member.ts';
import type { ModelShape } from './modelShape.ts';
import type { Covers } from './pack/covers.ts';
import { type LeaderFloors, leaderFloors } from './pack/leaderFloors.ts';
import { replicaLimit } from './pack/mostAtOnce.ts';
import { fewestBySize, fitsAlone, pack } from './pack/pack.ts';
import type { Packing, Stage } from './pack/packing.ts';
import { replicate } from './pack/replicate.ts';
import type { Ways } from './pack/ring.ts';
import type { Throughput } from './pack/throughput.ts';
import { proportionalStages, spread } from './share/spread.ts';
import { worthTrying } from './worthTrying.ts';

/** Who holds which layers, before it is explained. */
export interface Assignment {
  packing: Packing;
  /** Empty where the model does not fit. */
  pipelines: Stage[][];
  /** The members that may hold layers, whether or not they do, most memory first. */
  admitted: Candidate[];
  /** Those of them whose memory counted. */
  usable: Candidate[];
  /** Rejected for their memory alone. */
  tooSmall: Candidate[];
  rejected: Rejection[];
  referenceCommit: string | null;
  /** Whether one admitted member could serve alone. */
  fitsOne: boolean;
  /** Whether plain RAM had to be used. */
  usesPlainRam: boolean;
}

/** Bytes of one token's activations on the wire. */
export function activationBytesOf(model: Pick<ModelShape, 'hiddenSize'>, exact: boolean): number {
  return model.hiddenSize * (exact ? 4 : 2);
}

/**
 * Assigns the layers. The input must have been checked. Plain RAM comes last, then a leader without a GPU; of the builds and
 * leaders that are left to the planner those serve that need the fewest hops, of equal ones, where there are few enough to
 * try, those with the most tokens/s, and then the first in the order of `buildsOf` and `leadersOf`. To tell whether the model
 * fits at all, 'any' assignment will do, which is found sooner.
 */
export function assign(
  model: ModelShape,
  members: readonly Member[],
  settings: Settings,
  wanted: 'best' | 'any' = 'best',
): Assignment {
  const costs = rangeCosts(model, settings);
  const shared = {
    costs,
    reachOf: reachIn(costs),
    links: linksOf(members, settings.links),
    activationBytes: activationBytesOf(model, settings.exact),
    slots: settings.slots,
    balances: !settings.weightsOnly,
    patience: wanted === 'any' ? 1 : Number.POSITIVE_INFINITY,
    fixedOrder: settings.members,
    covers: new Map<string, Covers>(),
    ways: new Map<string, Ways>(),
    splits: new Map<string, Stage[] | null>(),
  };
  const offerOf = offersOf(costs, settings);
  const builds = buildsOf(members, settings);
  // A machine without a GPU leads only where no other can.
  const leaderTurns = settings.coordinator === undefined ? [false, true] : [false];
  const attemptIn = (plainRam: boolean): Attempt => {
    const room = { ...shared, served: new Map<string, Throughput>() };
    return (lead, aim) => {
      const admission = gates(members, room.links, costs, settings, lead, offerOf, plainRam);
      return attemptWith(admission, { ...room, coordinator: lead.coordinator }, settings, plainRam, aim);
    };
  };
  const turns = plainRamTurns(members, settings);
  for (const plainRam of turns) {
    const attempt = attemptIn(plainRam);
    for (const plainLeader of leaderTurns) {
      const choices = builds.map((referenceCommit) => {
        // Who may hold nothing, as paused members and other builds, makes a room no larger.
        const alike = unledCandidates(members, referenceCommit, offerOf, settings, plainRam);
        const fewest = fewestStages(alike, shared, settings);
        const all = leadersOf(members, referenceCommit, shared.links, settings, plainLeader);
        const worth = worthTrying(alike, all, shared, fewest, (member) => offerOf(member, { leads: true, plainRam }));
        let floors: LeaderFloors | null = null;
        const floorsHere = () => {
          floors ??= leaderFloors(worth?.holders ?? alike, shared, fewest);
          return floors;
        };
        return {
          referenceCommit,
          leaders: worth?.leaders ?? fewLeaders(all),
          fewest,
          glanceMs: (leader: string | null) => floorsHere().glanceMs(leader),
          floorMs: (leader: string | null) => floorsHere().floorMs(leader),
          holders: alike.length,
          isLarge: worth === null,
        };
      });
      const isLarge = choices.some((choice) => choice.isLarge);
      const triesAll = wanted === 'best' && settings.policy === 'hop-minimal' && shared.balances && !isLarge;
      const comparesReplicas = choices.every(({ holders }) => holders <= replicaLimit);
      const best = triesAll
        ? bestLead(choices, attempt, comparesReplicas)
        : firstLead(choices, attempt, (fewest) => wanted === 'any' || isGoodEnough(fewest, isLarge, settings));
      if (best !== null) return best;
    }
  }

  const preferred = leaderTurns.flatMap((plainLeader) =>
    builds.flatMap((referenceCommit) =>
      leadersOf(members, referenceCommit, shared.links, settings, plainLeader).map((coordinator) => ({
        coordinator,
        referenceCommit,
      })),
    ),
  );
  const lead = preferred[0] ?? { coordinator: settings.coordinator ?? null, referenceCommit: builds[0] ?? null };
  // What is missing is missing in spite of plain RAM where that may be used.
  return attemptIn(turns.at(-1) ?? false)(lead, anyPlan);
}

/** The first build and leader that will do: the fewest hops of those that are tried. */
function firstLead(
  builds: readonly BuildChoice[],
  attempt: Attempt,
  isEnough: (fewest: number) => boolean,
): Assignment | null {
  let best: Assignment | null = null;
  for (const { referenceCommit, leaders, fewest } of builds) {
    if (fewest >= stagesOf(best)) continue;
    for (const coordinator of leaders) {
      const result = attempt({ coordinator, referenceCommit }, anyPlan);
      if (stagesOf(result) < stagesOf(best)) best = result;
      if (stagesOf(best) <= fewest || (best !== null && isEnough(fewest))) break;
    }
  }
  return best;
}

/**
 * Whether the first leader under which the model fits will do: in large rooms, and where hops do not count. To run on one
 * member is better than a proportional plan, though.
 */
function isGoodEnough(bound: number, isLarge: boolean, { policy }: Settings): boolean {
  return isLarge || (policy === 'proportional' && bound > 1);
}

function stagesOf(assignment: Assignment | null): number {
  return assignment?.pipelines[0]?.length ?? Number.POSITIVE_INFINITY;
}

/** What members offer; each offer is worked out once. */
function offersOf(costs: RangeCosts, settings: Settings): OfferOf {
  const offers = Array.from({ length: 4 }, () => new Map<Member, Candidate>());
  // Kinds are compared often, so they are told apart by short names.
  const kinds = new Map<string, string>();
  return (member, role) => {
    const known = offers[Number(role.leads) + 2 * Number(role.plainRam)];
    const found = known?.get(member);
    if (found !== undefined) return found;
    const offer = candidateOf(member, costs, settings, role);
    const kind = kinds.get(offer.kind) ?? String(kinds.size);
    kinds.set(offer.kind, kind);
    const named = { ...offer, kind };
    known?.set(member, named);
    return named;
  };
}

/** Whether plain RAM counts, in the order in which it is tried. */
function plainRamTurns(members: readonly Member[], { plainRam }: Settings): readonly boolean[] {
  if (plainRam === 'always') return [true];
  const hasPlain = members.some((member) => deviceClassOf(member) === 'cpu' || (member.hostMemoryBytes ?? 0) > 0);
  return plainRam === 'never' || !hasPlain ? [false] : [false, true];
}

/** The members of a build that could hold something if nobody led. */
function unledCandidates(
  members: readonly Member[],
  build: string | null,
  offerOf: OfferOf,
  settings: Settings,
  plainRam: boolean,
): Candidate[] {
  return members
    .filter((member) => member.build === build && absence(member, settings) === null)
    .filter((member) => plainRam || deviceClassOf(member) !== 'cpu')
    .map((member) => offerOf(member, { leads: false, plainRam }))
    .sort(byMemory);
}

/** A lower bound on the stages that these members need, whoever leads; infinite where their memory is too small. */
function fewestStages(
  alike: readonly Candidate[],
  packing: Pick<Packing, 'costs' | 'reachOf'>,
  settings: Settings,
): number {
  const fewest = fewestBySize(alike, packing);
  if (fewest > alike.length) return Number.POSITIVE_INFINITY;
  return Math.max(fewest, limitsOf(settings).least);
}

/** What one leader and build make of the members; no pipeline where that does not reach the aim. */
function attemptWith(
  admission: Admission,
  packing: Packing,
  settings: Settings,
  plainRam: boolean,
  aim: Aim,
): Assignment {
  const { admitted, tooSmall, rejected, referenceCommit } = admission;
  const usable = plainRam ? admitted : admitted.filter(({ deviceClass }) => deviceClass !== 'cpu');
  const fitsOne = fitsAlone(usable, packing);
  const late: Rejection[] = [];
  const pipelines =
    settings.policy === 'proportional' && settings.force !== 'single' && (!fitsOne || settings.force === 'cluster')
      ? spreadOver(usable, packing, settings, late)
      : replicate(usable, packing, {
          ...aim,
          ...limitsOf(settings),
          pipelines: Math.min(aim.pipelines, pipelinesWanted(settings)),
        });
  const left = new Set(late.map(({ address }) => address));
  return {
    packing,
    pipelines,
    admitted: admitted.filter(({ address }) => !left.has(address)).sort(byMemory),
    usable: [...usable].sort(byMemory),
    tooSmall: [...tooSmall].sort(byMemory),
    rejected: [...rejected, ...late].sort((a, b) => compareText(a.address, b.address)),
    referenceCommit,
    fitsOne,
    usesPlainRam: plainRam,
  };
}

function limitsOf({ force }: Settings): { least: number; most: number } {
  return { least: force === 'cluster' ? 2 : 1, most: force === 'single' ? 1 : Number.POSITIVE_INFINITY };
}

/** As many as there can be; but a proportional plan that runs on one member has no others unless they are asked for. */
function pipelinesWanted({ policy, replicas, maxReplicas }: Settings): number {
  return Math.min(replicas ?? (policy === 'proportional' ? 1 : Number.POSITIVE_INFINITY), maxReplicas);
}

function spreadOver(
  candidates: readonly Candidate[],
  packing: Packing,
  settings: Settings,
  late: Rejection[],
): Stage[][] {
  const shared = spread(candidates, packing);
  if (shared !== null && (shared.stages.length > 1 || settings.force !== 'cluster')) {
    const parts = packing.costs.boundaries.length - 1;
    for (const { address } of shared.tooMany) {
      late.push({ address, reason: { kind: 'TooManyMembers', members: candidates.length, parts } });
    }
    for (const { address } of shared.cutOff) {
      late.push({
        address,
        reason: { kind: 'NotDataPlaneReachable', reachability: blockOf(address, packing, candidates) },
      });
    }
    return [shared.stages];
  }
  // No chain in this order has room; one of the fewest stages may.
  const stages = pack(candidates, packing, limitsOf(settings));
  if (stages === null) return [];
  const chain = stages.map(({ candidate }) => candidate);
  return [proportionalStages(chain, packing) ?? stages];
}

function blockOf(address: string, { links }: Packing, candidates: readonly Candidate[]) {
  const reached = candidates.flatMap((other) =>
    other.address === address
      ? []
      : [links.reachability(other.address, address), links.reachability(address, other.address)],
  );
  return reached.find((reachability) => reachability !== 'LocalDirect' && reachability !== 'Direct') ?? 'RelayOnly';
}
