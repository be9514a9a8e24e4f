import { backendOrCpu } from '../planner/backend.ts';
import type { Member } from '../planner/member.ts';
import type { ModelShape } from '../planner/modelShape.ts';
import type { PlacedStage } from '../planner/placedStage.ts';
import { plan } from '../planner/plan.ts';
import type { KvType } from '../planner/planOptions.ts';
import type { HelloReply } from '../wire/generated/roomful/v1/member.ts';
import type { MemberClient } from '../wire/memberClient.ts';
import { WIRE_VERSION } from '../wire/wireVersion.ts';
import type { StagePlacement } from './formPipeline.ts';
import { PipelineError } from './pipelineError.ts';

/** A member that answered, and how to ask it. */
export interface Candidate {
  client: MemberClient;
  hello: HelloReply;
}

export interface PlaceOptions {
  /** Tokens over all slots. */
  contextLength: number;
  slots: number;
  batch: number;
  kvType: KvType;
  exact: boolean;
  /** Id of the member that leads. */
  coordinator: string;
  /** The build that members must run. */
  build: string;
}

/**
 * Lets the planner place one pipeline over the members. Throws PipelineError('FormFailed') with the planner's own words
 * where the model fits nowhere.
 */
export function placeModel(
  candidates: readonly Candidate[],
  shape: ModelShape,
  options: PlaceOptions,
): { stages: StagePlacement[]; placement: PlacedStage[]; explain: string[] } {
  const { coordinator, build, ...sizes } = options;
  const members = candidates.map(({ client, hello }): Member => {
    const sameWire = hello.wireVersion === WIRE_VERSION;
    return {
      address: client.address,
      name: hello.name,
      backend: backendOrCpu(hello.backend),
      memoryBytes: hello.shareBytes,
      build: sameWire ? hello.build : `wire version ${hello.wireVersion}`,
    };
  });
  const leader = candidates.find(({ client }) => client.member === coordinator)?.client.address ?? null;
  const decided = plan(members, shape, { ...sizes, coordinator: leader, referenceCommit: build, maxReplicas: 1 });
  const [pipeline] = decided.pipelines;
  if (pipeline === undefined) throw new PipelineError('FormFailed', decided.explain.join(' '));
  const stages: StagePlacement[] = [];
  const placement: PlacedStage[] = [];
  for (const { address, startLayer, endLayer, bytes } of pipeline.stages) {
    const candidate = candidates.find(({ client }) => client.address === address);
    if (candidate === undefined)
      throw new PipelineError('FormFailed', `The plan names ${address}, which is no member.`);
    const { client, hello } = candidate;
    stages.push({ member: client, name: hello.name, startLayer, endLayer });
    placement.push({ member: hello.name, startLayer, endLayer, bytes: bytes.total });
  }
  return { stages, placement, explain: decided.explain };
}
