import { byMemory, type Candidate, compareText } from './candidate.ts';
import { type Admission, gates, type Rejection } from './gates.ts';
import { linksOf } from './links.ts';
import type { Member } from './member.ts';
import type { ModelShape } from './modelShape.ts';
import { pack } from './pack.ts';
import type { Packing, Stage } from './packing.ts';
import { rangeCosts } from './rangeCosts.ts';
import { reachIn } from './reach.ts';
import { replicate } from './replicate.ts';
import type { Settings } from './settings.ts';
import { proportionalStages, spread } from './spread.ts';

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

/** Assigns the layers. The input must have been checked. */
export function assign(model: ModelShape, members: readonly Member[], settings: Settings): Assignment {
  const costs = rangeCosts(model, settings);
  const links = linksOf(members, settings.links);
  const attempt = (plainRam: boolean): Assignment => {
    const admission = gates(members, links, costs, settings, plainRam);
    const packing: Packing = {
      costs,
      reachOf: reachIn(costs),
      links,
      coordinator: admission.coordinator,
      activationBytes: activationBytesOf(model, settings.exact),
      fixedOrder: settings.members,
    };
    return attemptWith(admission, packing, settings, plainRam);
  };
  if (settings.plainRam === 'always') return attempt(true);
  const first = attempt(settings.policy === 'proportional' && settings.plainRam === 'last-resort');
  if (first.pipelines.length > 0 || settings.plainRam === 'never' || first.usesPlainRam) return first;
  return attempt(true);
}

function attemptWith(admission: Admission, packing: Packing, settings: Settings, plainRam: boolean): Assignment {
  const { admitted, tooSmall, rejected, referenceCommit } = admission;
  const usable = plainRam ? admitted : admitted.filter(({ deviceClass }) => deviceClass !== 'cpu');
  const alone = pack(usable, packing, { least: 1, most: 1 });
  const late: Rejection[] = [];
  const pipelines =
    settings.policy === 'proportional' &&
    settings.force !== 'single' &&
    (alone === null || settings.force === 'cluster')
      ? spreadOver(usable, packing, settings, late)
      : replicate(usable, packing, limitsOf(settings), pipelinesWanted(settings));
  const left = new Set(late.map(({ address }) => address));
  return {
    packing,
    pipelines,
    admitted: admitted.filter(({ address }) => !left.has(address)).sort(byMemory),
    usable: [...usable].sort(byMemory),
    tooSmall: [...tooSmall].sort(byMemory),
    rejected: [...rejected, ...late].sort((a, b) => compareText(a.address, b.address)),
    referenceCommit,
    fitsOne: alone !== null,
    usesPlainRam: plainRam,
  };
}

function limitsOf({ force }: Settings): { least: number; most: number } {
  return { least: force === 'cluster' ? 2 : 1, most: force === 'single' ? 1 : Number.POSITIVE_INFINITY };
}

/** Proportional plans have one pipeline: whoever could replicate it is part of it. */
function pipelinesWanted({ policy, replicas, maxReplicas }: Settings): number {
  return policy === 'proportional' ? 1 : Math.min(replicas ?? Number.POSITIVE_INFINITY, maxReplicas);
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
