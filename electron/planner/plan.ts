import type { Rejection } from './admit/gates.ts';
import { type Assignment, activationBytesOf, assign } from './assign.ts';
import { checkMembers } from './check/checkMembers.ts';
import { checkModel } from './check/checkModel.ts';
import { checkOptions } from './check/checkOptions.ts';
import { type Settings, settingsOf } from './costs/settings.ts';
import { explain } from './explain/explain.ts';
import { type Fit, fitOf } from './explain/fitOf.ts';
import { type RunMode, runMode } from './explain/runMode.ts';
import { type Shortfall, shortfall } from './explain/shortfall.ts';
import type { Member } from './member.ts';
import type { ModelShape } from './modelShape.ts';
import type { Stage } from './pack/packing.ts';
import type { PlanOptions, Policy } from './planOptions.ts';
import { type PipelinePrediction, predict } from './predict/predict.ts';
import { type StageBytes, stageBytesOf } from './stageBytes.ts';

/** Where every layer goes, what that will do, and why. Plain data; layers count from 0. */
export interface Plan {
  fit: Fit;
  policy: Policy;
  /** Null where nobody leads. */
  coordinator: string | null;
  /** The build that members had to run, null in an empty room. */
  referenceCommit: string | null;
  activationBytesPerToken: number;
  /** Of the first pipeline. */
  hops: number;
  /** The first serves requests soonest; the others add throughput. Empty where the model does not fit. */
  pipelines: PlannedPipeline[];
  /** Admitted members that hold nothing, most memory first. */
  spare: string[];
  /** By address. */
  rejected: Rejection[];
  /** Set where the model does not fit. */
  shortfall: Shortfall | null;
  prediction: PlanPrediction | null;
  runMode: RunMode | null;
  /** One plain line for each decision. */
  explain: string[];
}

export interface PlannedPipeline {
  stages: PlannedStage[];
  hops: number;
  prediction: PipelinePrediction;
  runMode: RunMode;
}

export interface PlannedStage {
  address: string;
  startLayer: number;
  /** Exclusive. */
  endLayer: number;
  bytes: StageBytes;
  /** The part of the bytes that lies in plain RAM although the member has a GPU. */
  plainRamBytes: number;
  /** What the member could still hold. */
  freeBytes: number;
}

/**
 * The throughput that is predicted. Plans are better with fewer hops, then with more `tokensPerSecond`, then with more
 * `tokensPerSecondMany`. Who joins with a device of the same class makes no plan worse in that order: of hops and of one request
 * in rooms of up to sixteen members, of all requests in rooms of up to ten. ARCHITECTURE.md says more.
 */
export interface PlanPrediction {
  /** Tokens per second of one request that is alone, on the first pipeline. */
  tokensPerSecond: number;
  /** Tokens per second of all slots of all pipelines. */
  tokensPerSecondMany: number;
  /** Of the first pipeline. */
  firstTokenMs: number;
  promptTokens: number;
}

/**
 * Decides which member holds which layers of a model. Pure: no clock, no I/O, no randomness, the input is never changed,
 * and the same room in another order gives the same plan. Throws `InvalidInput`, which names the field, rather than plan
 * with numbers that mean nothing.
 */
export function plan(members: readonly Member[], model: ModelShape, options: PlanOptions = {}): Plan {
  checkMembers(members);
  checkModel(model);
  checkOptions(options, members, model);
  return planWith(members, model, settingsOf(model, options));
}

/** The same for input that has been checked. */
export function planWith(members: readonly Member[], model: ModelShape, settings: Settings): Plan {
  const assignment = assign(model, members, settings);
  const pipelines = assignment.pipelines.map((stages) => pipelineOf(stages, model, assignment, settings));
  const [first] = pipelines;
  const used = new Set(pipelines.flatMap(({ stages }) => stages.map(({ address }) => address)));
  const facts = {
    fit: fitOf(assignment),
    policy: settings.policy,
    coordinator: assignment.packing.coordinator,
    referenceCommit: assignment.referenceCommit,
    activationBytesPerToken: activationBytesOf(model, settings.exact),
    hops: first?.hops ?? 0,
    pipelines,
    spare: assignment.admitted.map(({ address }) => address).filter((address) => !used.has(address)),
    rejected: assignment.rejected,
    shortfall: first === undefined ? shortfall(model, members, settings, assignment) : null,
    prediction: first === undefined ? null : total(pipelines, first),
    runMode: first?.runMode ?? null,
  };
  return { ...facts, explain: explain(facts, { members, model, settings, assignment }) };
}

function pipelineOf(
  stages: readonly Stage[],
  model: ModelShape,
  { packing }: Assignment,
  settings: Settings,
): PlannedPipeline {
  const planned = stages.map(({ candidate, start, end }) => {
    const taken = packing.costs.bytes(start, end);
    return {
      address: candidate.address,
      startLayer: start,
      endLayer: end,
      bytes: stageBytesOf(packing.costs, start, end, candidate.deviceClass),
      plainRamBytes: candidate.deviceClass === 'cpu' ? 0 : Math.max(0, taken - candidate.deviceBytes),
      freeBytes: candidate.capacity - taken,
    };
  });
  return {
    stages: planned,
    hops: stages.length - 1,
    prediction: predict(stages, packing, settings),
    runMode: runMode({ engine: 'llama.cpp', stages, costs: packing.costs, isMixture: Boolean(model.experts) }),
  };
}

function total(pipelines: readonly PlannedPipeline[], first: PlannedPipeline): PlanPrediction {
  const { tokensPerSecond, firstTokenMs, promptTokens } = first.prediction;
  return {
    tokensPerSecond,
    tokensPerSecondMany: pipelines.reduce((sum, { prediction }) => sum + prediction.tokensPerSecondMany, 0),
    firstTokenMs,
    promptTokens,
  };
}
