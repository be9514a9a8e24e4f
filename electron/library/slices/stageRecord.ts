import { createHash } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const index = z.int().nonnegative();

/** A stage's files that are whole, and what was checked before they became so. */
export const stageRecordSchema = z.strictObject({
  version: z.literal(2),
  /** Content id. */
  model: sha256,
  startLayer: index,
  /** Exclusive. */
  endLayer: z.int().positive(),
  digest: sha256,
  /** One hash for all weights of the model that its holders had; null where none of them had read them. */
  weights: sha256.nullable(),
  role: z.enum(['whole', 'first', 'middle', 'last', 'embedder']),
  layers: z.int().positive(),
  embedding: z.strictObject({ offset: index, type: index, rows: index, columns: index, scale: z.number() }).nullable(),
  /** `fixedSha256`: of all that is no tensor. */
  files: z.array(z.strictObject({ name: z.string(), bytes: index, changedAt: z.number(), fixedSha256: sha256 })).min(1),
  /** By their names in the whole model, and where in which file they lie. */
  tensors: z.array(z.strictObject({ tensor: z.string(), file: index, at: index, bytes: index, sha256 })),
});

export type StageRecord = z.infer<typeof stageRecordSchema>;

export const RECORD_FILE = 'record.json';

/** Null where there is none that can be read, or it is not as it was written. */
export async function readStageRecord(folder: string): Promise<StageRecord | null> {
  try {
    const [text = '', seal] = (await readFile(join(folder, RECORD_FILE), 'utf8')).split('\n');
    return seal === sealOf(text) ? stageRecordSchema.parse(JSON.parse(text)) : null;
  } catch {
    return null;
  }
}

/** Whole or not there, and on the disk when this resolves. */
export async function writeStageRecord(folder: string, record: StageRecord): Promise<void> {
  const path = join(folder, RECORD_FILE);
  const file = await open(`${path}.partial`, 'w', 0o600);
  try {
    const text = JSON.stringify(record);
    await file.writeFile(`${text}\n${sealOf(text)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.partial`, path);
}

/** A record decides what of a file is used and how, so a byte of it that flips must not go unnoticed. */
function sealOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
