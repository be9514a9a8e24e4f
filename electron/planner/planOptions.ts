import type { Reachability } from './member.ts';

/** `hop-minimal` uses as few members as will do, `proportional` all of them by their memory. */
export type Policy = 'hop-minimal' | 'proportional';

export const policies: readonly Policy[] = ['hop-minimal', 'proportional'];

/** `single` allows one member only, `cluster` wants at least two. */
export type Force = 'single' | 'cluster';

export const forces: readonly Force[] = ['single', 'cluster'];

/** When plain RAM may hold layers: if the model fits no other way, as an equal of other memory, or never. */
export type PlainRam = 'last-resort' | 'always' | 'never';

export const plainRamChoices: readonly PlainRam[] = ['last-resort', 'always', 'never'];

/** Type of the KV cache, as llama.cpp names it. */
export type KvType = 'f16' | 'q8_0';

export const kvTypes: readonly KvType[] = ['f16', 'q8_0'];

/** What one member measured when it dialled another: an ordered pair. */
export interface Link {
  from: string;
  to: string;
  rttMs?: number | undefined;
  bytesPerSecond?: number | undefined;
  reachability?: Reachability | undefined;
}

/** What a stage of a running pipeline took for one token of one sequence. It replaces the estimate. */
export interface MeasuredStage {
  address: string;
  startLayer: number;
  /** Exclusive. */
  endLayer: number;
  ms: number;
}

/** The part of the options that decides how many bytes a range of layers takes. */
export interface CostOptions {
  /** Tokens of KV cache, the total over all slots. Default 8,192, at most what the slots can use. */
  contextLength?: number | undefined;
  /** Sequences at once. Default 4. */
  slots?: number | undefined;
  /** Default 'f16'. */
  kvType?: KvType | undefined;
  /** Whether sliding-window layers keep the full context, as stages do. Default true. */
  swaFull?: boolean | undefined;
  /** Most tokens in one step. Default 512. */
  batch?: number | undefined;
  /** The draft model on the coordinator: its memory, and the tokens it proposes at once. Default none. */
  draft?: { bytes: number; tokens: number } | null | undefined;
  /** Tokenizer and engine host of the coordinator, charged where it shares unified or plain memory. Default 64 MiB. */
  engineHostBytes?: number | undefined;
  /** Fraction of a member's memory that stays free. Default 0.05. */
  headroom?: number | undefined;
}

export interface PlanOptions extends CostOptions {
  /** Default 'hop-minimal'. */
  policy?: Policy | undefined;
  force?: Force | undefined;
  /** The only members to consider, and the order of the stages. Replaces discovery. */
  members?: readonly string[] | undefined;
  /** Members that the user does not want. */
  excluded?: readonly string[] | undefined;
  /**
   * Pipelines wanted. Fewer where the members do not suffice, and one where a proportional plan takes everyone into it, and
   * then the plan says so.
   */
  replicas?: number | undefined;
  /** Pipelines at most. */
  maxReplicas?: number | undefined;
  /** Default 'last-resort'. */
  plainRam?: PlainRam | undefined;
  /**
   * Who leads; null for nobody. Default a member under which the model fits, in the fewest hops, in rooms of up to sixteen with
   * the most tokens/s, of equal ones the one with the most memory; a machine without a GPU only where no other can.
   */
  coordinator?: string | null | undefined;
  /**
   * The build that members must run. Default that of the coordinator given, else the one whose members serve the model best:
   * without plain RAM, then in the fewest hops, in rooms of up to sixteen with the most tokens/s, then with the most GPU and
   * unified memory, then with the lowest address.
   */
  referenceCommit?: string | undefined;
  links?: readonly Link[] | undefined;
  measured?: readonly MeasuredStage[] | undefined;
  /** Activations cross hops as f32 instead of fp16. Default false. */
  exact?: boolean | undefined;
  /** Prompt length for the time to the first token. Default 512. */
  promptTokens?: number | undefined;
}
