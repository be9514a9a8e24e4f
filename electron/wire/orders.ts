import { z } from 'zod';
import { epochSchema } from './epoch.ts';
import type { LinkStageRequest, RunStageRequest } from './generated/roomful/v1/member.ts';
import { CallRefused } from './wireError.ts';

const count = z.number().int().positive();
const index = z.number().int().nonnegative();
const place = { pipeline: z.string().min(1).max(200), epoch: epochSchema, position: index };

const holder = z.object({
  member: z.string().min(1),
  addresses: z.array(z.string().min(1)).min(1).max(64),
  weights: z.string().max(64).optional(),
});

const runStageSchema = z
  .object({
    ...place,
    stages: count,
    model: z.string().regex(/^[0-9a-f]{64}$/, 'a content id has 64 hex digits'),
    holders: z.array(holder).max(1024),
    startLayer: index,
    endLayer: count,
    contextLength: count,
    slots: count,
    batch: count,
    threads: index,
    plannedBytes: index,
    kvType: z.enum(['f16', 'q8_0']),
    followerMember: z.string().min(1),
  })
  .refine(({ startLayer, endLayer }) => startLayer < endLayer, 'a stage needs at least one layer')
  .refine(({ position, stages }) => position < stages, 'position must be below stages');

const linkStageSchema = z.object({
  ...place,
  predecessorAddress: z.string().min(1),
  predecessorMember: z.string().min(1),
});

/** A RunStageRequest whose fields have been checked. */
export type RunStageOrder = z.infer<typeof runStageSchema>;
/** A LinkStageRequest whose fields have been checked. */
export type LinkStageOrder = z.infer<typeof linkStageSchema>;

/** Throws CallRefused('BadRequest') that names the first field that is wrong. */
export function parseRunStage(request: RunStageRequest): RunStageOrder {
  return parse(runStageSchema, request);
}

/** Throws CallRefused('BadRequest') that names the first field that is wrong. */
export function parseLinkStage(request: LinkStageRequest): LinkStageOrder {
  return parse(linkStageSchema, request);
}

function parse<T>(schema: z.ZodType<T>, request: unknown): T {
  const parsed = schema.safeParse(request);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.join('.') ?? '';
  throw new CallRefused(
    'BadRequest',
    `Bad order: ${where === '' ? '' : `${where}: `}${issue?.message ?? 'unreadable'}`,
  );
}
