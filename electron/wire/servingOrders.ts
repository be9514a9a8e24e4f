import { z } from 'zod';
import { epochSchema } from './epoch.ts';
import type { DriveOrder, EmbedOrder, GenerateOrder, ServeOrder, StopOrder } from './generated/roomful/v1/serving.ts';
import { CallRefused } from './wireError.ts';

const count = z.number().int().positive();
const index = z.number().int().nonnegative();
const text = z.string().min(1).max(1000);
const alias = z.string().min(1).max(200);
const kvType = z.enum(['f16', 'q8_0']);
const holders = z
  .array(z.object({ member: text, addresses: z.array(text).max(64), weights: z.string().max(64).optional() }))
  .max(256);

const serveSchema = z.object({
  model: text,
  holders,
  members: z.array(text).max(64),
  places: z.array(z.object({ address: text, member: text })).max(64),
  force: z.enum(['single', 'cluster', '']),
  policy: z.enum(['hop-minimal', 'proportional', '']),
  plainRam: z.enum(['last-resort', 'always', 'never', '']),
  contextLength: count.optional(),
  slots: count.optional(),
  replicas: count.optional(),
  kvType: kvType.optional(),
  exact: z.boolean(),
  aliases: z.array(alias).max(16),
  draft: text.optional(),
  mostDrafts: index.optional(),
  alwaysDraft: z.boolean(),
  mostAhead: index.optional(),
  chunk: count.max(65_536).optional(),
});

const stageSchema = z
  .object({
    member: text,
    name: z.string(),
    address: text,
    startLayer: index,
    endLayer: count,
    bytes: index,
    kvBytes: index,
    weightBytes: index,
    profileBandwidth: z.number().positive().optional(),
    profileMs: z.number().positive().optional(),
  })
  .refine(({ startLayer, endLayer }) => startLayer < endLayer, 'a stage needs at least one layer');

const prediction = z.object({
  stageMs: z.array(z.number()).max(512),
  hopMs: z.array(z.number()).max(512),
  entryMs: z.number(),
  exitMs: z.number(),
  tokensPerSecond: z.number(),
  tokensPerSecondMany: z.number(),
  firstTokenMs: z.number(),
});

const driveSchema = z.object({
  pipeline: z.string().min(1).max(200),
  epoch: epochSchema,
  model: text,
  holders,
  modelId: text,
  aliases: z.array(alias).max(16),
  stages: z.array(stageSchema).min(1).max(512),
  contextLength: count,
  slots: count,
  batch: count,
  kvType,
  exact: z.boolean(),
  draft: z.object({ model: text, holders, bytes: index }).optional(),
  predicted: prediction,
  mostDrafts: index,
  alwaysDraft: z.boolean(),
  mostAhead: index,
  fixedChunk: z.boolean(),
});

const stopSchema = z.object({ modelId: text, drainMs: index.max(24 * 3_600_000), forget: z.boolean() });

const generateSchema = z.object({
  pipeline: text,
  promptTokens: z.array(index).min(1),
  maxTokens: count,
  sampling: z.custom<NonNullable<GenerateOrder['sampling']>>((value) => value !== undefined, 'is missing'),
  bulk: z.boolean(),
});

const embedSchema = z.object({ pipeline: text, tokens: z.array(index).min(1), bulk: z.boolean() });

/** Orders whose fields have been checked. */
export type CheckedServeOrder = z.infer<typeof serveSchema>;
export type CheckedDriveOrder = z.infer<typeof driveSchema>;
export type CheckedStopOrder = z.infer<typeof stopSchema>;
export type CheckedGenerateOrder = z.infer<typeof generateSchema>;
export type CheckedEmbedOrder = z.infer<typeof embedSchema>;

/** Each throws CallRefused('BadRequest') that names the first field that is wrong. */
export const parseServeOrder = (order: ServeOrder): CheckedServeOrder => parse(serveSchema, order);
export const parseDriveOrder = (order: DriveOrder): CheckedDriveOrder => parse(driveSchema, order);
export const parseStopOrder = (order: StopOrder): CheckedStopOrder => parse(stopSchema, order);
export const parseGenerateOrder = (order: GenerateOrder): CheckedGenerateOrder => parse(generateSchema, order);
export const parseEmbedOrder = (order: EmbedOrder): CheckedEmbedOrder => parse(embedSchema, order);

function parse<T>(schema: z.ZodType<T>, order: unknown): T {
  const parsed = schema.safeParse(order);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.join('.') ?? '';
  throw new CallRefused(
    'BadRequest',
    `Bad order: ${where === '' ? '' : `${where}: `}${issue?.message ?? 'unreadable'}`,
  );
}
