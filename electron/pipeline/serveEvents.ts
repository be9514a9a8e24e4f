import { z } from 'zod';
import type { PlacedStage } from '../planner/placedStage.ts';

/** What a client asks for when a model is to be served by an explicit list of members. */
export const serveRequestSchema = z.strictObject({
  /** Any shard of a GGUF on a disk that every member can read. */
  modelPath: z.string().min(1),
  /** Control-plane addresses and ids of the members that may take part. */
  members: z
    .array(z.strictObject({ address: z.string().min(1), id: z.string().min(1) }))
    .min(1)
    .max(64),
  /** Tokens of one request, prompt and answer; the model's own length, at most 4096, where it is not named. */
  contextLength: z.int().min(16).max(1_048_576).optional(),
  /** Requests that run at once. */
  slots: z.int().min(1).max(64).optional(),
  /** Keep activations at f32 on the wire. */
  exact: z.boolean().optional(),
});

export type ServeRequest = z.infer<typeof serveRequestSchema>;

const placedStageSchema: z.ZodType<PlacedStage> = z.object({
  member: z.string(),
  startLayer: z.int(),
  endLayer: z.int(),
  bytes: z.number(),
});

/** What happens while a model comes up, in order; the last is `ready` or `failed`. */
export const serveEventSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('planned'),
    placement: z.array(placedStageSchema),
    hops: z.int(),
    explain: z.array(z.string()),
  }),
  z.object({
    type: z.literal('progress'),
    member: z.string(),
    phase: z.enum(['cutting', 'loading', 'loaded']),
    fraction: z.number(),
  }),
  z.object({ type: z.literal('ready'), model: z.string(), contextLength: z.int() }),
  z.object({ type: z.literal('failed'), message: z.string() }),
]);

export type ServeEvent = z.infer<typeof serveEventSchema>;
