import type { Backend } from '../../../electron/planner/backend.ts';
import { reasonText } from '../../../electron/planner/explain/reasonText.ts';
import { type DeviceClass, deviceClassOf } from '../../../electron/planner/member.ts';
import type { Plan } from '../../../electron/planner/plan.ts';
import { PALETTE_SIZE } from '../graph/palette.ts';
import { answerTo } from './answer.ts';
import type { Question } from './scenario.ts';

/** One member and its part in the plan, flat, so that two of them are compared field by field. */
export interface MemberView {
  id: string;
  name: string;
  real: boolean;
  included: boolean;
  backend: Backend;
  deviceClass: DeviceClass;
  memoryBytes: number;
  /** Whether it leads the pool that the plan assumes. */
  leads: boolean;
  /** Why it holds no layer; null where it holds some. */
  idle: string | null;
  /** Of its stage; zeros and nulls where it has none. */
  startLayer: number;
  endLayer: number;
  /** Layers of the whole model. */
  modelLayers: number;
  /** Index of its pipeline, and of its stage in it. */
  pipeline: number;
  color: number;
  ms: number | null;
  weightBytes: number;
  kvBytes: number;
  otherBytes: number;
  plainRamBytes: number;
}

const views = new WeakMap<Question, ReadonlyMap<string, MemberView>>();

/** Every member of a question with its part in the plan, by id. */
export function memberViews(question: Question): ReadonlyMap<string, MemberView> {
  const known = views.get(question);
  if (known !== undefined) return known;
  const made = new Map(work(question).map((view) => [view.id, view]));
  views.set(question, made);
  return made;
}

function work(question: Question): MemberView[] {
  const { plan } = answerTo(question);
  const parts = plan === null ? new Map<string, Part>() : partsOf(plan);
  return question.members.map(({ id, name, real, included, backend, memoryBytes }) => ({
    id,
    name,
    real,
    included,
    backend,
    deviceClass: deviceClassOf({ backend }),
    memoryBytes,
    leads: plan?.coordinator === id,
    idle: plan === null ? 'there is no plan' : idleReason(plan, id, included),
    ...(parts.get(id) ?? nothing),
  }));
}

type Part = Pick<
  MemberView,
  | 'startLayer'
  | 'endLayer'
  | 'modelLayers'
  | 'pipeline'
  | 'color'
  | 'ms'
  | 'weightBytes'
  | 'kvBytes'
  | 'otherBytes'
  | 'plainRamBytes'
>;

const nothing: Part = {
  startLayer: 0,
  endLayer: 0,
  modelLayers: 0,
  pipeline: 0,
  color: 0,
  ms: null,
  weightBytes: 0,
  kvBytes: 0,
  otherBytes: 0,
  plainRamBytes: 0,
};

function partsOf({ pipelines }: Plan): Map<string, Part> {
  const parts = new Map<string, Part>();
  pipelines.forEach(({ stages, prediction }, pipeline) => {
    const modelLayers = stages.at(-1)?.endLayer ?? 0;
    stages.forEach(({ address, startLayer, endLayer, bytes, plainRamBytes }, index) => {
      parts.set(address, {
        startLayer,
        endLayer,
        modelLayers,
        pipeline,
        color: index % PALETTE_SIZE,
        ms: prediction.stages[index]?.ms ?? null,
        weightBytes: bytes.weights + bytes.output + bytes.embedding,
        kvBytes: bytes.kv,
        otherBytes: bytes.compute,
        plainRamBytes,
      });
    });
  });
  return parts;
}

function idleReason({ pipelines, rejected, spare }: Plan, id: string, included: boolean): string | null {
  if (pipelines.some(({ stages }) => stages.some(({ address }) => address === id))) return null;
  if (!included) return 'switched off';
  const rejection = rejected.find(({ address }) => address === id);
  if (rejection !== undefined) return reasonText(rejection.reason);
  return spare.includes(id) && pipelines.length > 0 ? 'not needed' : 'not used';
}
