import type { ModelShape } from '../modelShape.ts';
import type { Force, KvType, Link, MeasuredStage, PlainRam, PlanOptions, Policy } from '../planOptions.ts';

/** Tokens over all slots where nobody says otherwise. */
const assumedContext = 8192;

/** What decides the bytes of a range of layers, with every default filled in. */
export interface CostSettings {
  contextLength: number;
  slots: number;
  kvType: KvType;
  swaFull: boolean;
  batch: number;
  draft: { bytes: number; tokens: number };
  engineHostBytes: number;
  headroom: number;
  /** The compact form counts weights alone, and knows no speeds. */
  weightsOnly: boolean;
}

/** The options with every default filled in. */
export interface Settings extends CostSettings {
  policy: Policy;
  force: Force | null;
  members: readonly string[] | null;
  excluded: readonly string[];
  replicas: number | null;
  maxReplicas: number;
  plainRam: PlainRam;
  /** Undefined leaves the choice to the planner, null means that nobody leads. */
  coordinator: string | null | undefined;
  referenceCommit: string | null;
  links: readonly Link[];
  measured: readonly MeasuredStage[];
  exact: boolean;
  promptTokens: number;
}

/** Fills in the defaults that `CostOptions` and `PlanOptions` document. The options must have been checked. */
export function settingsOf(model: ModelShape, options: PlanOptions): Settings {
  const slots = options.slots ?? 4;
  return {
    contextLength: options.contextLength ?? Math.min(assumedContext, (model.contextLength || assumedContext) * slots),
    slots,
    kvType: options.kvType ?? 'f16',
    swaFull: options.swaFull ?? true,
    batch: options.batch ?? 512,
    draft: options.draft ?? { bytes: 0, tokens: 0 },
    engineHostBytes: options.engineHostBytes ?? 64 * 1024 * 1024,
    headroom: options.headroom ?? 0.05,
    weightsOnly: false,
    policy: options.policy ?? 'hop-minimal',
    force: options.force ?? null,
    members: options.members ?? null,
    excluded: options.excluded ?? [],
    replicas: options.replicas ?? null,
    maxReplicas: options.maxReplicas ?? Number.POSITIVE_INFINITY,
    plainRam: options.plainRam ?? 'last-resort',
    coordinator: options.coordinator,
    referenceCommit: options.referenceCommit ?? null,
    links: options.links ?? [],
    measured: options.measured ?? [],
    exact: options.exact ?? false,
    promptTokens: options.promptTokens ?? 512,
  };
}
