import { z } from 'zod';
import type { PlacedStage } from '../../planner/placedStage.ts';
import type { Force, KvType, PlainRam, Policy } from '../../planner/planOptions.ts';
import { pipelineStates } from '../numbers/pipelineReport.ts';

/** What a person asks for; what is left out is left to the planner. */
export interface ServeRequest {
  /** Content id or name of a model that some member has. */
  model?: string | undefined;
  /** In place of `model`: any shard of a GGUF on the disk of the member that is asked, which is imported first. */
  modelPath?: string | undefined;
  /**
   * The only members that may take part, by name, id or address, in the order of the stages; or by address and id, also
   * where nobody has found them. Replaces discovery.
   */
  members?: readonly (string | MemberPlace)[] | undefined;
  force?: Force | undefined;
  /** Whether as few members as can hold it take part, or everyone by speed. */
  policy?: Policy | undefined;
  /** When layers may lie in plain RAM beside a card. */
  plainRam?: PlainRam | undefined;
  /** Tokens of one request, prompt and answer; the model's own length, at most 4096, where it is not named. */
  contextLength?: number | undefined;
  /** Requests that run at once. */
  slots?: number | undefined;
  /** Pipelines of the model, each of members of its own. Default 1. */
  replicas?: number | undefined;
  kvType?: KvType | undefined;
  /** Content id or name of a small model of the same vocabulary that drafts; where left out drafts are looked up. */
  draft?: string | undefined;
  /** In place of `draft`: its file on the disk of the member that is asked, which is imported first. */
  draftPath?: string | undefined;
  /** Tokens guessed ahead at most, in one step; 0 never guesses. Default 8. */
  mostDrafts?: number | undefined;
  /** Guess so many always, whether it pays or not: for measuring. */
  alwaysDraft?: boolean | undefined;
  /** Steps of one request under way at once while drafts are verified, at most; 1 waits for each. Default 8: for measuring. */
  mostAhead?: number | undefined;
  /** Tokens of a prompt that travel in one step, whatever its length: for measuring. */
  chunk?: number | undefined;
  /** Keep activations at f32 on the wire. */
  exact?: boolean | undefined;
  /** What else clients may call the model. */
  aliases?: readonly string[] | undefined;
}

/** Where a member's control plane is, and whose it must be. */
export interface MemberPlace {
  address: string;
  id: string;
}

const placedStageSchema: z.ZodType<PlacedStage> = z.object({
  member: z.string(),
  startLayer: z.int(),
  endLayer: z.int(),
  bytes: z.number(),
  kvBytes: z.number(),
});

/** What happens while a model comes up, in order; the last is `ready` or `failed`. */
export const serveEventSchema = z.discriminatedUnion('type', [
  /** Once for each pipeline. */
  z.object({
    type: z.literal('planned'),
    placement: z.array(placedStageSchema),
    hops: z.int(),
    explain: z.array(z.string()),
  }),
  z.object({ type: z.literal('state'), pipeline: z.string(), state: z.enum(pipelineStates) }),
  z.object({
    type: z.literal('progress'),
    member: z.string(),
    phase: z.enum(['fetching', 'cutting', 'loading', 'checking', 'loaded']),
    fraction: z.number(),
    /** Of the tensors, while they are cut from this member's disk or fetched from others. */
    bytes: z.object({ done: z.number(), total: z.number() }).optional(),
  }),
  /** Something to know that ends nothing. */
  z.object({ type: z.literal('note'), message: z.string() }),
  z.object({ type: z.literal('ready'), model: z.string(), contextLength: z.int() }),
  z.object({ type: z.literal('failed'), message: z.string() }),
]);

export type ServeEvent = z.infer<typeof serveEventSchema>;
