import { formatBytes } from '../../planner/formatBytes.ts';
import type { ModelShape } from '../../planner/modelShape.ts';
import { plan } from '../../planner/plan.ts';
import type { Force, KvType, Link, PlainRam, Policy } from '../../planner/planOptions.ts';
import type { PipelinePrediction } from '../../planner/predict/predict.ts';
import type { MeasuredWay } from '../../pool/profile/measuredWay.ts';
import type { PlannedPace, PlannedPlace } from '../numbers/pipelineReport.ts';
import { PipelineError } from '../pipelineError.ts';
import type { MemberFacts } from './servingRoom.ts';

type MeasuredPace = Pick<MeasuredWay, 'rttMs' | 'bytesPerSecond'>;

/** A member that answered, and what it offers. */
export interface Candidate {
  id: string;
  name: string;
  address: string;
  build: string;
  facts: MemberFacts;
  /** Not heard of lately. */
  stale: boolean;
  /** The way there from the member that leads. */
  link: MeasuredPace | null;
  /** The ways to it from others, as it has measured them. */
  ways: readonly MeasuredWay[];
  /** Bytes that other pipelines have there. */
  takenBytes: number;
  /** What stages of this model have taken there beside the estimate. */
  stageExtraBytes: number;
  /** How fast stages of this model run there, over what its bandwidth makes expect; 1 where that is not known. */
  stageSpeed: number;
  /** Most that a stage may take, where one was found too large; null where none was. */
  mostBytes: number | null;
}

export interface PlaceOptions {
  /** Tokens over all slots. */
  contextLength: number;
  slots: number;
  batch: number;
  kvType: KvType;
  exact: boolean;
  force?: Force | undefined;
  policy?: Policy | undefined;
  plainRam?: PlainRam | undefined;
  /** Pipelines at most. */
  replicas: number;
  /** Whether the candidates are in the order that the stages are to have. */
  ordered: boolean;
  /** Id of the member that leads. */
  coordinator: string;
  /** The build that members must run. */
  build: string;
  /** What the model that drafts takes on the coordinator, and how many tokens it drafts at once. */
  draft?: { bytes: number; tokens: number } | null;
}

export interface Placement {
  /** The one that serves soonest first; at least one. */
  pipelines: { stages: PlannedPlace[]; predicted: PlannedPace }[];
  explain: string[];
}

/**
 * Lets the planner place a model over the members, on what other pipelines have left of them. Pure. Throws
 * PipelineError('FormFailed') with the planner's own words where the model fits nowhere.
 */
export function placePipelines(
  candidates: readonly Candidate[],
  shape: ModelShape,
  { coordinator, ordered, replicas, ...options }: PlaceOptions,
): Placement {
  const { build, ...sizes } = options;
  const leader = candidates.find(({ id }) => id === coordinator)?.address ?? null;
  const members = candidates.map(
    ({ name, address, build: own, facts, stale, takenBytes, stageExtraBytes, stageSpeed, mostBytes }) => ({
      ...atMost(left(facts, takenBytes), mostBytes),
      stageExtraBytes,
      stageSpeed,
      name,
      address,
      build: own,
      stale,
    }),
  );
  const decided = plan(members, shape, {
    ...sizes,
    coordinator: leader,
    referenceCommit: build,
    maxReplicas: replicas,
    links: linksOf(candidates, coordinator),
    ...(replicas > 1 && { replicas }),
    ...(ordered && { members: candidates.map(({ address }) => address) }),
  });
  const tooSmall = new Set(
    decided.rejected.flatMap(({ address, reason }) => (reason.kind === 'InsufficientMemory' ? [address] : [])),
  );
  const isFull = decided.pipelines.length === 0;
  const taken = candidates.flatMap(({ name, address, takenBytes }) =>
    takenBytes > 0 && (isFull || tooSmall.has(address))
      ? [`Other models take ${formatBytes(takenBytes)} of what ${name} shares; stop one to have that back.`]
      : [],
  );
  const explain = [...decided.explain, ...taken];
  if (isFull) throw new PipelineError('FormFailed', explain.join(' '));
  const byAddress = new Map(candidates.map((candidate) => [candidate.address, candidate]));
  const pipelines = decided.pipelines.map(({ stages, prediction }) => ({
    stages: stages.map(({ address, startLayer, endLayer, bytes }, index): PlannedPlace => {
      const candidate = byAddress.get(address);
      const { id: member = '', name = address } = candidate ?? {};
      const weightBytes = bytes.weights + bytes.output + bytes.embedding;
      const place = { member, name, address, startLayer, endLayer, bytes: bytes.total, kvBytes: bytes.kv, weightBytes };
      return { ...place, ...profiled(candidate, prediction.stages[index]?.ms ?? 0) };
    }),
    predicted: paceOf(prediction),
  }));
  return { pipelines, explain };
}

function paceOf({
  stages,
  hops,
  entryMs,
  exitMs,
  tokensPerSecond,
  tokensPerSecondMany,
  firstTokenMs,
}: PipelinePrediction): PlannedPace {
  const [stageMs, hopMs] = [stages.map(({ ms }) => ms), hops.map(({ ms }) => ms)];
  return { stageMs, hopMs, entryMs, exitMs, tokensPerSecond, tokensPerSecondMany, firstTokenMs };
}

/** What the profile alone says of a stage that is predicted to take so many ms: what is learnt of it is held against that. */
function profiled(
  candidate: Candidate | undefined,
  predictedMs: number,
): Pick<PlannedPlace, 'profileBandwidth' | 'profileMs'> {
  const bandwidth = candidate?.facts.bandwidth;
  if (candidate === undefined || bandwidth === undefined || predictedMs <= 0) return {};
  return { profileBandwidth: bandwidth, profileMs: predictedMs * candidate.stageSpeed };
}

/** What is left of an offer, of a card first and then of the plain RAM beside it. */
function left(facts: MemberFacts, takenBytes: number): MemberFacts {
  const memoryBytes = Math.max(1, facts.memoryBytes - takenBytes);
  if (facts.hostMemoryBytes === undefined) return { ...facts, memoryBytes };
  const beyond = Math.max(0, takenBytes - facts.memoryBytes);
  return { ...facts, memoryBytes, hostMemoryBytes: Math.max(0, facts.hostMemoryBytes - beyond) };
}

/** An offer that has turned out too large is as large as what was found. */
function atMost(facts: MemberFacts, mostBytes: number | null): MemberFacts {
  return mostBytes === null ? facts : { ...facts, memoryBytes: Math.max(1, Math.min(facts.memoryBytes, mostBytes)) };
}

/** Every way that one of its ends has measured; where only the other end has, it is taken to be the same both ways. */
function linksOf(candidates: readonly Candidate[], coordinator: string): Link[] {
  const addresses = new Map(candidates.map(({ id, address }) => [id, address]));
  const measured = candidates.flatMap(({ id, link, ways }) => [
    ...(link === null || id === coordinator ? [] : [{ by: coordinator, of: id, ...link }]),
    ...ways.map(({ member, ...way }) => ({ by: id, of: member, ...way })),
  ]);
  const links = new Map<string, Link>();
  const add = (from: string, to: string, { rttMs, bytesPerSecond }: MeasuredPace): void => {
    const [source, target] = [addresses.get(from), addresses.get(to)];
    if (source === undefined || target === undefined || from === to) return;
    links.set(`${from} ${to}`, { from: source, to: target, rttMs, bytesPerSecond });
  };
  for (const { by, of, ...way } of measured) add(by, of, way);
  // Throughput is measured towards whoever measures, which counts for more.
  for (const { by, of, ...way } of measured) add(of, by, way);
  return [...links.values()];
}
