import { z } from 'zod';
import type { PipelineNow } from '../wire/generated/roomful/v1/serving.ts';
import { WireError } from '../wire/wireError.ts';
import { type PipelineErrorKind, pipelineErrorKinds } from './pipelineError.ts';

/** The life of a pipeline, in order; `failed` may follow any of them. */
export const pipelineStates = [
  'planning',
  'fetching',
  'loading',
  'linking',
  'warming',
  'serving',
  'draining',
  'stopped',
  'failed',
] as const;
export type PipelineState = (typeof pipelineStates)[number];

const stageSchema = z.object({
  /** Id of the member. */
  member: z.string(),
  name: z.string(),
  /** `host:port` of its control plane. */
  address: z.string(),
  startLayer: z.int(),
  /** Exclusive. */
  endLayer: z.int(),
  /** Planned: weights, KV and buffers. */
  bytes: z.number(),
  /** What it took once it had loaded. */
  takenBytes: z.number().optional(),
});
/** Layers of a model on a member, as planned. */
export type PlannedPlace = z.infer<typeof stageSchema>;

const reportSchema = z.object({
  id: z.string(),
  /** Content id; empty while it is not known. */
  model: z.string(),
  /** What clients call the model. */
  modelId: z.string(),
  aliases: z.array(z.string()),
  state: z.enum(pipelineStates),
  /** Why it failed, in one line; null while it has not. */
  failure: z.object({ kind: z.enum(pipelineErrorKinds), message: z.string() }).nullable(),
  stages: z.array(stageSchema),
  /** How far the slowest stage has come in this state, 0 to 1. */
  fraction: z.number(),
  /** Tokens of one request. */
  contextLength: z.int(),
  slots: z.int(),
  /** Unix seconds; 0 before it serves. */
  createdAt: z.int(),
  /** Requests that run or wait. */
  load: z.int(),
  tokensPerSecond: z.number().nullable(),
});
/** A pipeline as the member that drives it sees it. */
export type PipelineReport = z.infer<typeof reportSchema>;

/** Whether a pipeline is there or may still come, so that its model is not to be served again. */
export function isLive({ state }: Pick<PipelineReport, 'state'>): boolean {
  return state !== 'stopped' && state !== 'failed';
}

/** As it goes to other members. */
export function encodeReport(report: PipelineReport): PipelineNow {
  const { failure, tokensPerSecond, ...rest } = report;
  return {
    ...rest,
    failure: failure?.kind ?? '',
    reason: failure?.message ?? '',
    tokensPerSecond: tokensPerSecond ?? undefined,
  };
}

/** Reads what another member sent. Throws a WireError that names what is wrong with it. */
export function parseReport(now: PipelineNow): PipelineReport {
  const { failure: kind, reason, tokensPerSecond = null } = now;
  const failure = kind === '' ? null : { kind, message: reason };
  const parsed = reportSchema.safeParse({ ...now, failure, tokensPerSecond });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new WireError(`A member sent a pipeline that cannot be read: ${issue?.path.join('.')}: ${issue?.message}`, {
    cause: parsed.error,
  });
}

/** The kind of a failure that another member named, for errors that cross members. */
export function failureKind(kind: string | null): PipelineErrorKind | null {
  return pipelineErrorKinds.find((each) => each === kind) ?? null;
}
