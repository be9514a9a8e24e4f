import { z } from 'zod';
import { modelShape } from '../gguf/modelShape.ts';
import { openModel } from '../gguf/openModel.ts';
import type { ModelShape } from '../planner/modelShape.ts';
import { parseJsonFile, plainWords } from './parseJsonFile.ts';

/** A model to plan for: a full shape, or the three numbers of the compact form. */
export type PlanModel = { form: 'full'; shape: ModelShape } | { form: 'compact'; shape: CompactShape };

export interface CompactShape {
  layers: number;
  hidden_dim: number;
  total_vram_gb: number;
}

const amount = z.number().nonnegative();
const layer = z.object({
  weightBytes: amount,
  kvBytesPerToken: amount,
  slidingWindow: z.int().positive().nullable().default(null),
  expertBytes: amount.optional(),
  stateBytesPerSlot: amount.optional(),
});
const fullShape = z.object({
  name: z.string().min(1).default('The model'),
  architecture: z.string().min(1).default('unknown'),
  hiddenSize: z.int().positive(),
  vocabularySize: z.int().positive(),
  contextLength: z.int().nonnegative(),
  layers: z.array(layer).min(1),
  embeddingBytes: amount,
  outputBytes: amount,
  sharedBytes: amount.default(0),
  tiedBytes: amount.optional(),
  cutPoints: z.array(z.int().positive()),
  unsplittableReason: z.string().min(1).nullable().default(null),
  attentionHeads: z.int().positive().optional(),
  feedForwardSize: z.int().positive().optional(),
  parameters: z.number().positive().optional(),
  experts: z.object({ count: z.int().positive(), usedPerToken: z.int().positive() }).nullish(),
});
const compactShape = z.looseObject({
  layers: z.number(),
  hidden_dim: z.number(),
  total_vram_gb: z.number(),
});
const isFull = (value: unknown) =>
  typeof value === 'object' && value !== null && 'layers' in value && Array.isArray(value.layers);

const shape = z.unknown().transform((value, context): PlanModel => {
  const full = isFull(value);
  const parsed = full ? fullShape.safeParse(value, plainWords) : compactShape.safeParse(value, plainWords);
  if (!parsed.success) {
    context.issues.push(...parsed.error.issues.map((issue) => ({ ...issue, code: 'custom' as const, input: value })));
    return z.NEVER;
  }
  return full ? { form: 'full', shape: fullShape.parse(value) } : { form: 'compact', shape: compactShape.parse(value) };
});

/**
 * Reads the header of a GGUF (any file of a split set), or a `.json`: the compact `{layers, hidden_dim, total_vram_gb}` or a
 * full `ModelShape`. Throws an error of one line that names the file and what is wrong.
 */
export async function readPlanModel(path: string): Promise<PlanModel> {
  if (path.toLowerCase().endsWith('.json')) return await parseJsonFile(path, shape);
  return { form: 'full', shape: modelShape(await openModel(path)) };
}
