import { z } from 'zod';
import { epochSchema } from '../wire/epoch.ts';
import { tlsMaterialSchema } from '../wire/tlsMaterial.ts';
import { bootMethod, type HostContract, leaveMethod } from './hostContract.ts';
import type { NativeLoadOptions, NativeMemory } from './nativeAddon.ts';

const count = z.number().int().positive();
const index = z.number().int().nonnegative();

const embeddingTable = z.strictObject({
  path: z.string().min(1),
  offset: index,
  type: index,
  rows: count,
  columns: count,
  scale: z.number(),
});

const nativeLoad: z.ZodType<NativeLoadOptions> = z.strictObject({
  path: z.string().min(1),
  role: z.enum(['whole', 'first', 'middle', 'last', 'embedder']),
  layers: count,
  embedding: embeddingTable.nullable(),
  vocabulary: z.string().min(1).nullable(),
  contextLength: count,
  slots: count,
  batch: count,
  threads: count,
  gpuLayers: index,
  device: z.string().nullable(),
  kvType: z.enum(['f16', 'q8_0']),
  maxOutputs: count,
});

const memory: z.ZodType<NativeMemory> = z.strictObject({ weightBytes: index, kvBytes: index, computeBytes: index });

/** The place of a stage in a ring, and how its process speaks for its member. */
const ring = z.strictObject({
  pipeline: z.string().min(1),
  epoch: epochSchema,
  /** 0 for the first stage. */
  position: index,
  /** The member whose process follows this stage. */
  follower: z.string().min(1),
  /** Literal address to listen on; the port is any free one. */
  host: z.string().min(1),
  tls: tlsMaterialSchema,
});
export type StageRing = z.infer<typeof ring>;

const loaded = z.strictObject({
  /** `host:port` that the follower dials. */
  address: z.string(),
  memory,
  embeddingLength: count,
  vocabularySize: count,
});
export type LoadedStage = z.infer<typeof loaded>;

const predecessor = z.strictObject({ address: z.string().min(1), member: z.string().min(1) });
/** The process that a stage follows. */
export type StagePredecessor = z.infer<typeof predecessor>;

const stats = z.strictObject({
  steps: index,
  /** Frames that were not this stage's to compute, by verdict of checkFrame. */
  dropped: z.strictObject({ WrongPipeline: index, StaleEpoch: index, UnknownEpoch: index, StaleStep: index }),
  /** Runs of a sequence that had lost its slot. */
  staleRuns: index,
});
export type StageStats = z.infer<typeof stats>;

/** Between a member and a stage host. */
export const stageContract = {
  methods: {
    boot: bootMethod,
    load: { params: z.strictObject({ stage: nativeLoad, ring }), result: loaded },
    link: { params: predecessor, result: z.null() },
    memory: { params: z.null(), result: memory },
    stats: { params: z.null(), result: stats },
    leave: leaveMethod,
  },
  events: {
    progress: z.number(),
    linkLost: z.strictObject({ side: z.enum(['upstream', 'downstream']), message: z.string() }),
    /** Frames have come from the process before this stage, since the event before; at most five a second. */
    frames: z.null(),
    /** The pipeline has been ended by its coordinator. */
    ended: z.null(),
  },
} satisfies HostContract;
