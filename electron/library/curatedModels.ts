import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { LibraryError } from './libraryError.ts';

const count = z.int().positive();
const bytes = z.number().nonnegative();

/** One model of the list; sizes are those of the file that `reference` fetches, layers are taken to be equal. */
const curatedSchema = z.strictObject({
  name: z.string().min(1),
  reference: z.string().regex(/^(hf:|https:)/),
  about: z.string().min(1).max(300),
  licence: z.string().min(1),
  bytes: count,
  parameters: z.number().positive(),
  architecture: z.string().min(1),
  layers: count,
  hiddenSize: count,
  vocabularySize: count,
  contextLength: count,
  attentionHeads: count,
  feedForwardSize: count,
  embeddingBytes: bytes,
  /** The head; where it is the embedding, as large as that. */
  outputBytes: bytes,
  tied: z.boolean().default(false),
  /** Of K and V of one layer, at f16. */
  kvBytesPerToken: bytes,
  experts: z.strictObject({ count, usedPerToken: count, share: z.number().gt(0).lt(1) }).optional(),
  /** Stages begin at multiples of this many layers. */
  cutEvery: count.default(1),
});

/** A model worth a try, and what it needs. */
export type CuratedModel = z.infer<typeof curatedSchema>;

const listSchema = z.strictObject({ models: z.array(curatedSchema) });

/** Reads the list that may be edited. Rejects with LibraryError('DamagedLibrary') that names the file and what is wrong. */
export async function readCuratedModels(path: string): Promise<CuratedModel[]> {
  try {
    return listSchema.parse(JSON.parse(await readFile(path, 'utf8'))).models;
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause).replaceAll(/\s*\n\s*/g, ' ') : String(cause);
    throw new LibraryError('DamagedLibrary', `${path} is no list of models: ${why}`, { cause });
  }
}
