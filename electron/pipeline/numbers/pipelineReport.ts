import { z } from 'zod';
import type { PipelineNow, PipelineFigures as WireFigures } from '../../wire/generated/roomful/v1/serving.ts';
import { WireError } from '../../wire/wireError.ts';
import { type PipelineErrorKind, pipelineErrorKinds } from '../pipelineError.ts';

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
  /** Of those, for the KV cache. */
  kvBytes: z.number(),
  /** Of those, for weights; the rest are buffers. */
  weightBytes: z.number(),
  /** What it took once it had loaded. */
  takenBytes: z.number().optional(),
  /** Bytes per second that the member's profile said when this was planned; left out where it said nothing. */
  profileBandwidth: z.number().optional(),
  /** One token by that alone, milliseconds, whatever else was known. */
  profileMs: z.number().optional(),
});
/** Layers of a model on a member, as planned. */
export type PlannedPlace = z.infer<typeof stageSchema>;

const predictionSchema = z.object({
  /** One per stage. */
  stageMs: z.array(z.number()),
  /** One per hop between stages. */
  hopMs: z.array(z.number()),
  /** From the coordinator to the first stage, and from the last one back. */
  entryMs: z.number(),
  exitMs: z.number(),
  /** Of one request that is alone, and of all slots together. */
  tokensPerSecond: z.number(),
  tokensPerSecondMany: z.number(),
  /** From a prompt of middling length to its first token. */
  firstTokenMs: z.number(),
});
/** What the planner expects of one token of one sequence, milliseconds. */
export type PlannedPace = z.infer<typeof predictionSchema>;

const waySchema = z.object({
  /** Of a decode step; null while it was not measured. */
  ms: z.number().nullable(),
  /** Since the pipeline was formed: between stages of activations, else of whole frames that cross to another member. */
  bytes: z.number(),
});

const figuresSchema = z.object({
  stages: z.array(
    z.object({
      computeMs: z.number(),
      queueMs: z.number(),
      /** Of one row with no other work in the pipeline; null before that was measured. */
      loneMs: z.number().nullable(),
    }),
  ),
  hops: z.array(waySchema),
  entry: waySchema,
  exit: waySchema,
  /** From sending a decode step to its return, and of that the time between processes. */
  stepMs: z.number(),
  networkMs: z.number(),
  running: z.int(),
  /** Requests that wait for a seat. */
  queued: z.int(),
  steps: z.int(),
  requests: z.int(),
  promptTokens: z.int(),
  cachedTokens: z.int(),
  generatedTokens: z.int(),
  draftedTokens: z.int(),
  acceptedTokens: z.int(),
  /** Of all answers together, lately. */
  tokensPerSecond: z.number(),
});
/** What a pipeline does, as measured; counts since it was formed, times as moving averages in ms. */
export type PipelineFigures = z.infer<typeof figuresSchema>;

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
  /** Null while it is being planned. */
  predicted: predictionSchema.nullable(),
  /** Null before it serves; at most once a second another one. */
  figures: figuresSchema.nullable(),
  /** Planned for the model that drafts, on the member that drives; 0 without one. */
  draftBytes: z.number(),
});
/** A pipeline as the member that drives it sees it. */
export type PipelineReport = z.infer<typeof reportSchema>;

/** Whether a pipeline is there or may still come, so that its model is not to be served again. */
export function isLive({ state }: Pick<PipelineReport, 'state'>): boolean {
  return state !== 'stopped' && state !== 'failed';
}

/** As it goes to other members. */
export function encodeReport(report: PipelineReport): PipelineNow {
  const { failure, tokensPerSecond, predicted, figures, ...rest } = report;
  return {
    ...rest,
    failure: failure?.kind ?? '',
    reason: failure?.message ?? '',
    tokensPerSecond: tokensPerSecond ?? undefined,
    predicted: predicted ?? undefined,
    figures: figures === null ? undefined : encodeFigures(figures),
  };
}

/** Reads what another member sent. Throws a WireError that names what is wrong with it. */
export function parseReport(now: PipelineNow): PipelineReport {
  const { failure: kind, reason, tokensPerSecond = null, predicted = null } = now;
  const failure = kind === '' ? null : { kind, message: reason };
  const figures = now.figures === undefined ? null : decodeFigures(now.figures);
  const parsed = reportSchema.safeParse({ ...now, failure, tokensPerSecond, predicted, figures });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new WireError(`A member sent a pipeline that cannot be read: ${issue?.path.join('.')}: ${issue?.message}`, {
    cause: parsed.error,
  });
}

function encodeFigures({ stages, hops, entry, exit, ...rest }: PipelineFigures): WireFigures {
  const stage = ({ loneMs, ...times }: PipelineFigures['stages'][number]) => ({
    ...times,
    loneMs: loneMs ?? undefined,
  });
  const way = ({ ms, bytes }: PipelineFigures['entry']) => ({ ms: ms ?? undefined, bytes });
  return { ...rest, stages: stages.map(stage), hops: hops.map(way), entry: way(entry), exit: way(exit) };
}

function decodeFigures({ stages, hops, entry, exit, ...rest }: WireFigures): unknown {
  const stage = ({ loneMs, ...times }: WireFigures['stages'][number]) => ({ ...times, loneMs: loneMs ?? null });
  const way = (sent: WireFigures['entry']) => ({ ms: sent?.ms ?? null, bytes: sent?.bytes ?? 0 });
  return { ...rest, stages: stages.map(stage), hops: hops.map(way), entry: way(entry), exit: way(exit) };
}

/** The kind of a failure that another member named, for errors that cross members. */
export function failureKind(kind: string | null): PipelineErrorKind | null {
  return pipelineErrorKinds.find((each) => each === kind) ?? null;
}
