import { compareText } from './candidate.ts';
import { checkMembers } from './checkMembers.ts';
import { checkChoice, checkFlag, checkList, checkNumber, checkObject, checkText, positiveCount } from './checks.ts';
import type { Fit } from './fitOf.ts';
import type { RejectionReason } from './gates.ts';
import { InvalidInput } from './invalidInput.ts';
import { type Backend, backendNamed, backends, deviceClassOf, type Member, reachabilities } from './member.ts';
import type { ModelShape } from './modelShape.ts';
import { type PlannedPipeline, planWith } from './plan.ts';
import { policies } from './planOptions.ts';
import { settingsOf } from './settings.ts';

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
/** Equal for all members of a class, so that memory and address alone decide. */
const speeds = { accelerated: 400e9, plain: 40e9 };

/**
 * Plans from the compact params of scripts: `{model: {layers, hidden_dim, total_vram_gb}, members: [{address, vram_gb,
 * backend, llama_commit, reachability, ...}], user_forced, force_single, policy, reference_commit, head,
 * cluster_members}`. Memory is GB as given, without headroom or KV, and all layers are equal. The policy is proportional
 * where none is named. The reference build is `reference_commit`, else that of `head`, else that of the lowest address.
 * `cluster_members` restricts and orders the members. Throws `InvalidInput`, which names the field.
 */
export function compactPlan(params: unknown): CompactPlan {
  const input = recordOf(params, 'params');
  const { model, layers, totalGb } = modelOf(input.model);
  const members = restricted(membersOf(input.members), input.cluster_members);
  checkMembers(members);
  const policy = input.policy ?? 'proportional';
  checkChoice(policy, policies, 'policy');
  checkFlag(input.user_forced, 'user_forced');
  checkFlag(input.force_single, 'force_single');
  if (input.user_forced === true && input.force_single === true) {
    throw new InvalidInput('force_single', 'and user_forced contradict each other');
  }
  const settings = {
    ...settingsOf(model, {
      policy,
      headroom: 0,
      engineHostBytes: 0,
      coordinator: null,
      referenceCommit: referenceOf(input, members),
      ...(input.cluster_members === undefined ? {} : { members: members.map(({ address }) => address) }),
      ...(input.user_forced === true ? { force: 'cluster' as const } : {}),
      ...(input.force_single === true ? { force: 'single' as const } : {}),
    }),
    weightsOnly: true,
  };
  const plan = planWith(members, model, settings);
  const layerBytes = model.layers[0]?.weightBytes ?? 0;
  const offered = new Map(members.map(({ address, memoryBytes }) => [address, memoryBytes]));
  const out = new Set(plan.rejected.map(({ address }) => address));
  const held = [...offered].reduce(
    (sum, [address, bytes]) => sum + (out.has(address) ? 0 : Math.floor(bytes / layerBytes)),
    0,
  );
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
    name: typeof name === 'string' ? name : 'The model',
    architecture: 'unknown',
    hiddenSize: hidden,
    vocabularySize: 1,
    contextLength: 1,
    layers: Array.from({ length: layers }, () => ({ weightBytes, kvBytesPerToken: 0, slidingWindow: null })),
    embeddingBytes: 0,
    outputBytes: 0,
    sharedBytes: 0,
    tiedBytes: 0,
    cutPoints: Array.from({ length: layers - 1 }, (_, index) => index + 1),
    unsplittableReason: null,
  };
  return { model, layers, totalGb };
}

function membersOf(value: unknown): Member[] {
  checkList(value, 'members');
  return value.map((each, index) => {
    const field = `members[${index}]`;
    const { address, vram_gb: memory, backend, llama_commit: build, reachability } = recordOf(each, field);
    checkText(address, `${field}.address`);
    checkNumber(memory, `${field}.vram_gb`, { above: true, most: mostGigabytes });
    checkText(build, `${field}.llama_commit`);
    const reached = reachability ?? 'LocalDirect';
    checkChoice(reached, reachabilities, `${field}.reachability`);
    const known = backendOf(backend, `${field}.backend`);
    const speed = deviceClassOf({ backend: known }) === 'cpu' ? speeds.plain : speeds.accelerated;
    return {
      address,
      backend: known,
      memoryBytes: Math.round(memory * gigabyte),
      bandwidth: speed,
      build,
      reachability: reached,
    };
  });
}

function backendOf(value: unknown, field: string): Backend {
  const known = (typeof value === 'string' ? backendNamed(value) : undefined) ?? value;
  checkChoice(known, backends, field);
  return known;
}

function restricted(members: Member[], wanted: unknown): Member[] {
  if (wanted === undefined || wanted === null) return members;
  checkList(wanted, 'cluster_members');
  return wanted.map((address, index) => {
    const field = `cluster_members[${index}]`;
    checkText(address, field);
    if (wanted.indexOf(address) !== index) throw new InvalidInput(field, `names ${address} twice`);
    const member = members.find((each) => each.address === address);
    if (member === undefined) throw new InvalidInput(field, `is ${address}, which no member has`);
    return member;
  });
}

function referenceOf(input: Readonly<Record<string, unknown>>, members: readonly Member[]): string {
  const { reference_commit: reference, head } = input;
  if (reference !== undefined && reference !== null) {
    checkText(reference, 'reference_commit');
    return reference;
  }
  if (head !== undefined && head !== null) {
    checkText(head, 'head');
    const leader = members.find(({ address }) => address === head);
    if (leader === undefined) throw new InvalidInput('head', `is ${head}, which no member has`);
    return leader.build;
  }
  const [lowest] = [...members].sort((a, b) => compareText(a.address, b.address));
  return lowest?.build ?? 'none';
}
