import { z } from 'zod';
import { bootMethod, type HostContract, leaveMethod } from './hostContract.ts';
import type { NativeDevice } from './nativeAddon.ts';

const index = z.number().int().nonnegative();
const count = z.number().int().positive();
const token = z.number().int();

const device: z.ZodType<NativeDevice> = z.strictObject({
  name: z.string(),
  description: z.string(),
  backend: z.string(),
  pciAddress: z.string().nullable(),
  kind: z.enum(['cpu', 'gpu', 'integrated', 'accelerator']),
  totalBytes: index,
  freeBytes: index,
});

const int32Array: z.ZodType<Int32Array> = z.instanceof(Int32Array);
const uint32Array: z.ZodType<Uint32Array> = z.instanceof(Uint32Array);
const uint8Array: z.ZodType<Uint8Array> = z.instanceof(Uint8Array);

const vocabulary = z.strictObject({
  handle: index,
  size: index,
  bosToken: token,
  eosToken: token,
  bosText: z.string(),
  eosText: z.string(),
  addsBos: z.boolean(),
  endTokens: int32Array,
  controlTokens: z.array(z.strictObject({ id: token, text: z.string() })),
  /** The bytes of every token, concatenated, with `size + 1` offsets. */
  pieces: z.strictObject({ bytes: uint8Array, offsets: uint32Array }),
});

/** Between a member and its engine host. */
export const engineContract = {
  methods: {
    boot: bootMethod,
    devices: { params: z.null(), result: z.array(device) },
    readSpeed: {
      params: z.strictObject({
        device: z.string().min(1),
        threads: count,
        budgetMs: count,
      }),
      result: z.number().positive(),
    },
    openVocabulary: { params: z.strictObject({ path: z.string().min(1) }), result: vocabulary },
    tokenize: {
      params: z.strictObject({ handle: index, text: z.string(), addSpecial: z.boolean(), parseSpecial: z.boolean() }),
      result: int32Array,
    },
    grammarProblem: {
      params: z.strictObject({ handle: index, grammar: z.string() }),
      result: z.string().nullable(),
    },
    openDraft: {
      params: z.strictObject({
        /** Chosen by the caller, so that it can close what it no longer waits for. */
        handle: index,
        path: z.string().min(1),
        layers: count,
        contextLength: count,
        slots: count,
        batch: count,
        threads: count,
        gpuLayers: index,
      }),
      result: z.null(),
    },
    draft: {
      params: z.strictObject({
        handle: index,
        slot: index,
        start: index,
        tokens: int32Array,
        count: index,
        /** A Sampling as it goes over the wire. */
        sampling: uint8Array,
      }),
      result: int32Array,
    },
    closeDraft: { params: z.strictObject({ handle: index }), result: z.null() },
    closeVocabulary: { params: z.strictObject({ handle: index }), result: z.null() },
    leave: leaveMethod,
  },
  events: {
    /** A draft model loads. */
    draftProgress: z.number(),
  },
} satisfies HostContract;
