import { compareText } from './admit/candidate.ts';
import type { RejectionReason } from './admit/gates.ts';
import { type Backend, backendNamed, backends } from './backend.ts';
import { checkMembers } from './check/checkMembers.ts';
import { checkLinks } from './check/checkOptions.ts';
import {
  checkChoice,
  checkFlag,
  checkList,
  checkNumber,
  checkObject,
  checkText,
  positiveCount,
} from './check/checks.ts';
import { settingsOf } from './costs/settings.ts';
import { equalLayers } from './equalLayers.ts';
import type { Fit } from './explain/fitOf.ts';
import { InvalidInput } from './invalidInput.ts';
import { deviceClasses, deviceClassOf, type Member, reachabilities } from './member.ts';
import type { ModelShape } from './modelShape.ts';
import { type PlannedPipeline, planWith } from './plan.ts';
import { type Link, policies } from './planOptions.ts';

/** A stage of the compact form: `end_layer` is inclusive. */
export interface CompactStage {
  address: string;
  start_layer: number;
  end_layer: number;
}

/** A reason of the compact form: GB where the full form has bytes. */
export type CompactReason =
  | Exclude<RejectionReason, { kind: 'InsufficientMemory' }>
  | { kind: 'InsufficientMemory'; offered_gb: number; needed_gb: number };

/** The compact plan, for scripts. */
export interface CompactPlan {
  fit: Fit;
  forms_cluster: boolean;
  activation_bytes_per_token: number;
  /** Of the first pipeline. */
  stages: CompactStage[];
  hops: number;
  pipelines: { stages: CompactStage[]; hops: number }[];
  rejected: { address: string; reason: CompactReason }[];
  /** 0 where the model fits. */
  missing_gb: number;
  explain: string[];
}

const gigabyte = 1e9;
/** Keeps every sum of bytes exact. */
const mostGigabytes = 9e6;
/** A byte. */
const leastGigabytes = 1e-9;
/** Equal for all members of a class, so that memory and address alone decide. */
const speeds = { accelerated: 400e9, plain: 40e9 };

/**
 * Plans from the compact params of scripts: `{model: {layers, hidden_dim, total_vram_gb}, members: [{address, vram_gb,
 * backend, llama_commit, reachability, deviceClass, paused, stale}], user_forced, force_single, policy, reference_commit,
 * head, cluster_members, excluded, replicas, max_replicas, links}`; of a member the first four are needed. Memory is GB as given, without headroom or KV, and
 * all layers are equal. The policy is proportional where none is named, and then CPU members are the equals of others. The
 * reference build is `reference_commit`, else that of `head`, else that of the lowest address. `cluster_members` restricts
 * and orders the members under both policies; `excluded`, `replicas` and `max_replicas` are those of `PlanOptions`. `links` are those of `PlanOptions`. Throws `InvalidInput`, which names the
 * field.
 */
export function compactPlan(params: unknown): CompactPlan {
  const input = recordOf(params, 'params');
  const { model, layers, totalGb } = modelOf(input.model);
  const everyone = membersOf(input.members);
  checkMembers(everyone);
  const members = restricted(everyone, input.cluster_members);
  const excluded = named(input.excluded, 'excluded', everyone).map(({ address }) => address);
  const links = linksOf(input.links, everyone);
  const policy = input.policy ?? 'proportional';
  checkChoice(policy, policies, 'policy');
  const forced = flagOf(input.user_forced, 'user_forced');
  const single = flagOf(input.force_single, 'force_single');
  if (forced && single) throw new InvalidInput('force_single', 'and user_forced contradict each other');
  const head = headOf(input.head, everyone);
  const fixed = input.cluster_members !== undefined && input.cluster_members !== null;
  const settings = {
    ...settingsOf(model, {
      policy,
      headroom: 0,
      engineHostBytes: 0,
      links,
      // Links say how to reach the head, so that the chain can start there.
      coordinator: links.length > 0 ? (head?.address ?? null) : null,
      referenceCommit: referenceOf(input.reference_commit, head, members),
      plainRam: policy === 'proportional' ? 'always' : 'last-resort',
      ...(fixed ? { members: members.map(({ address }) => address) } : {}),
      ...(forced ? { force: 'cluster' as const } : {}),
      ...(single ? { force: 'single' as const } : {}),
      excluded,
      replicas: countOf(input.replicas, 'replicas'),
      maxReplicas: countOf(input.max_replicas, 'max_replicas'),
    }),
    weightsOnly: true,
  };
  const plan = planWith(members, model, settings);
  const layerBytes = model.layers[0]?.weightBytes ?? 0;
  const offered = new Map(members.map(({ address, memoryBytes }) => [address, memoryBytes]));
  const out = new Set(plan.rejected.map(({ address }) => address));
  const rooms = [...offered].map(([address, bytes]) => (out.has(address) ? 0 : Math.floor(bytes / layerBytes)));
  const held = single ? Math.max(0, ...rooms) : rooms.reduce((sum, room) => sum + room, 0);
  const pipelines = plan.pipelines.map(compactPipeline);
  return {
    fit: plan.fit,
    forms_cluster: plan.fit === 'ClusterRequired' || plan.fit === 'ClusterForced',
    activation_bytes_per_token: plan.activationBytesPerToken,
    stages: pipelines[0]?.stages ?? [],
    hops: plan.hops,
    pipelines,
    rejected: plan.rejected.map(({ address, reason }) => ({
      address,
      reason:
        reason.kind === 'InsufficientMemory'
          ? { kind: reason.kind, offered_gb: reason.offered / gigabyte, needed_gb: totalGb / layers }
          : reason,
    })),
    missing_gb: plan.fit === 'DoesNotFit' ? Math.max(0, totalGb - (totalGb / layers) * held) : 0,
    explain: plan.explain,
  };
}

function compactPipeline({ stages, hops }: PlannedPipeline): { stages: CompactStage[]; hops: number } {
  return {
    stages: stages.map(({ address, startLayer, endLayer }) => ({
      address,
      start_layer: startLayer,
      end_layer: endLayer - 1,
    })),
    hops,
  };
}

function recordOf(value: unknown, field: string): Readonly<Record<string, unknown>> {
  checkObject(value, field);
  return { ...value };
}

function modelOf(value: unknown): { model: ModelShape; layers: number; totalGb: number } {
  const { layers, hidden_dim: hidden, total_vram_gb: totalGb, name } = recordOf(value, 'model');
  checkNumber(layers, 'model.layers', { ...positiveCount, most: 4096 });
  checkNumber(hidden, 'model.hidden_dim', positiveCount);
  checkNumber(totalGb, 'model.total_vram_gb', { above: true, most: mostGigabytes });
  const weightBytes = Math.floor((totalGb * gigabyte) / layers);
  if (weightBytes === 0) throw new InvalidInput('model.total_vram_gb', 'is less than a byte for each layer');
  const model: ModelShape = {
    ...equalLayers(layers, weightBytes),
    name: typeof name === 'string' ? name : 'The model',
    hiddenSize: hidden,
  };
  return { model, layers, totalGb };
}

function membersOf(value: unknown): Member[] {
  checkList(value, 'members');
  return value.map((each, index) => {
    const field = `members[${index}]`;
    const {
      address,
      vram_gb: memory,
      backend,
      llama_commit: build,
      reachability,
      deviceClass,
      paused,
      stale,
    } = recordOf(each, field);
    checkText(address, `${field}.address`);
    checkNumber(memory, `${field}.vram_gb`, { least: leastGigabytes, most: mostGigabytes });
    checkText(build, `${field}.llama_commit`);
    const reached = reachability ?? 'LocalDirect';
    checkChoice(reached, reachabilities, `${field}.reachability`);
    const known = knownBackend(backend, `${field}.backend`);
    const lies = deviceClass ?? deviceClassOf({ backend: known });
    checkChoice(lies, deviceClasses, `${field}.deviceClass`);
    return {
      address,
      backend: known,
      deviceClass: lies,
      memoryBytes: Math.round(memory * gigabyte),
      bandwidth: lies === 'cpu' ? speeds.plain : speeds.accelerated,
      build,
      reachability: reached,
      paused: flagOf(paused, `${field}.paused`),
      stale: flagOf(stale, `${field}.stale`),
    };
  });
}

function knownBackend(value: unknown, field: string): Backend {
  const known = (typeof value === 'string' ? backendNamed(value) : undefined) ?? value;
  checkChoice(known, backends, field);
  return known;
}

function restricted(members: Member[], wanted: unknown): Member[] {
  return wanted === undefined || wanted === null ? members : named(wanted, 'cluster_members', members);
}

/** The members with these addresses, in their order; nobody for nothing. */
function named(wanted: unknown, list: string, members: readonly Member[]): Member[] {
  if (wanted === undefined || wanted === null) return [];
  checkList(wanted, list);
  return wanted.map((address, index) => {
    const field = `${list}[${index}]`;
    checkText(address, field);
    if (wanted.indexOf(address) !== index) throw new InvalidInput(field, `names ${address} twice`);
    const member = members.find((each) => each.address === address);
    if (member === undefined) throw new InvalidInput(field, `is ${address}, which no member has`);
    return member;
  });
}

/** A member with this address, in or out of the cluster: it may lead without holding a layer. */
function headOf(head: unknown, members: readonly Member[]): Member | null {
  if (head === undefined || head === null) return null;
  checkText(head, 'head');
  const leader = members.find(({ address }) => address === head);
  if (leader === undefined) throw new InvalidInput('head', `is ${head}, which no member has`);
  return leader;
}

function referenceOf(reference: unknown, head: Member | null, members: readonly Member[]): string {
  if (reference !== undefined && reference !== null) {
    checkText(reference, 'reference_commit');
    return reference;
  }
  if (head !== null) return head.build;
  const [lowest] = [...members].sort((a, b) => compareText(a.address, b.address));
  return lowest?.build ?? 'none';
}

function linksOf(value: unknown, members: readonly Member[]): readonly Link[] {
  if (value === undefined || value === null) return [];
  checkLinks(value, members, 'links');
  return value;
}

function countOf(value: unknown, field: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  checkNumber(value, field, positiveCount);
  return value;
}

/** Null says no more than nothing. */
function flagOf(value: unknown, field: string): boolean {
  checkFlag(value ?? undefined, field);
  return value === true;
}
