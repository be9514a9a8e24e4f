import { encodeEntry } from './encodeHeader.ts';
import { type FilePlan, layOut, type Piece } from './filePlan.ts';
import type { ModelSource } from './openModel.ts';
import { readCheckedHeader } from './readCheckedHeader.ts';
import { type WriteOptions, writeFilePlan } from './writeFilePlan.ts';

/** What a model's summary says that only its tensors tell, kept in a file that has none. */
export const summaryKeys = { parameters: 'roomful.parameters', quantisation: 'roomful.quantisation' } as const;

/** Plans a GGUF that holds a model's metadata, `summaryKeys` and no tensor, for loading the tokenizer alone. */
export function planVocabulary(model: ModelSource): FilePlan {
  const metadata: { key: string; data: Piece }[] = [];
  for (const { key, offset, byteLength } of model.metadata.entries()) {
    if (/^(split|roomful)\./.test(key)) continue;
    metadata.push({ key, data: { from: 'source', file: 0, offset, byteLength } as const });
  }
  const { parameters, quantisation } = model.summary;
  for (const [key, value] of [
    [summaryKeys.parameters, String(parameters)],
    [summaryKeys.quantisation, quantisation],
  ] as const) {
    metadata.push({ key, data: { from: 'bytes', bytes: encodeEntry(key, { type: 'string', value }) } });
  }
  return layOut({ alignment: model.alignment, metadata, tensors: [] });
}

/**
 * Writes the metadata of a model alone to `outPath`, for `vocab_only` loading. Whole or not there, as `cutStage`. It is taken
 * from the first file of the set, or from `header`, a copy of its header, and held against the hash of what was read
 * when the model was opened.
 */
export async function writeVocabulary(
  model: ModelSource,
  outPath: string,
  { header, ...options }: WriteOptions & { header?: string } = {},
): Promise<void> {
  const [first] = model.files;
  if (first === undefined) throw new RangeError('a model has at least one file');
  const bytes = await readCheckedHeader({ ...first, path: header ?? first.path });
  await writeFilePlan(withHeader(planVocabulary(model), bytes), [], outPath, options);
}

function withHeader(plan: FilePlan, header: Uint8Array): FilePlan {
  const pieces = plan.pieces.map(({ offset, data }) => {
    if (data.from === 'bytes') return { offset, data };
    return {
      offset,
      data: { from: 'bytes', bytes: header.subarray(data.offset, data.offset + data.byteLength) } as const,
    };
  });
  return { ...plan, pieces };
}
