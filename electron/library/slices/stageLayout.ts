import { createHash } from 'node:crypto';
import type { EmbeddingTable } from '../../gguf/embeddingTable.ts';
import type { FilePlan, Piece } from '../../gguf/filePlan.ts';
import { modelFingerprint } from '../../gguf/modelFingerprint.ts';
import type { ModelSource } from '../../gguf/openModel.ts';
import { planStageFile, type StagePlan } from '../../gguf/planStageFile.ts';
import { planWholeFile } from '../../gguf/planWholeFile.ts';
import { textEmbedding } from '../../gguf/textEmbedding.ts';
import type { LayerRange } from '../../planner/stageBytes.ts';

/** A tensor of the model as it lies in a file of the stage. */
export interface StageUnit {
  index: number;
  /** Index of the stage's file. */
  file: number;
  /** Name in the whole model. */
  tensor: string;
  /** Of its first byte in the stage's file. */
  at: number;
  bytes: number;
}

/** The files of a stage down to the byte: what comes from the header, and the tensors. */
export interface StageLayout {
  /** Content id of the model. */
  model: string;
  role: StagePlan['role'] | ReturnType<typeof wholeRole>;
  layers: number;
  files: { name: string; plan: FilePlan; fixed: { offset: number; data: Piece }[] }[];
  units: StageUnit[];
  totalBytes: number;
  /** The same for equal files of the same model. */
  digest: string;
  /** But for its path. */
  embedding: Omit<EmbeddingTable, 'path'> | null;
}

export const STAGE_FILE = 'stage.gguf';
export const EMBEDDING_FILE = 'embedding.gguf';
/** The tokenizer, beside a last stage. */
export const VOCABULARY_FILE = 'vocabulary.gguf';

/** Lays the files of a stage out; all layers together are one file of the whole model. Throws UnsplittableError. */
export function stageLayout(model: ModelSource, range: LayerRange): StageLayout {
  const isWhole = range.start === 0 && range.end === model.layers;
  const plan = isWhole ? null : planStageFile(model, range);
  const plans =
    plan === null
      ? [{ name: STAGE_FILE, plan: planWholeFile(model) }]
      : [
          { name: STAGE_FILE, plan: plan.stage },
          ...(plan.embedding === null ? [] : [{ name: EMBEDDING_FILE, plan: plan.embedding.file }]),
          ...(plan.vocabulary === null ? [] : [{ name: VOCABULARY_FILE, plan: plan.vocabulary }]),
        ];
  const names = new Map([...model.tensors.values()].map(({ name, file, offset }) => [`${file} ${offset}`, name]));
  const units: StageUnit[] = [];
  const files = plans.map((file, index) => {
    const isTensor = new Set<Piece>();
    for (const [position, { data, byteLength }] of file.plan.tensors.entries()) {
      if (data.from !== 'source') continue;
      const tensor = names.get(`${data.file} ${data.offset}`);
      const at = file.plan.tensorOffsets[position];
      if (tensor === undefined || at === undefined) throw new RangeError('the plan names a tensor that is none');
      isTensor.add(data);
      units.push({ index: units.length, file: index, tensor, at, bytes: byteLength });
    }
    return { ...file, fixed: file.plan.pieces.filter(({ data }) => !isTensor.has(data)) };
  });
  const id = modelFingerprint(model);
  return {
    model: id,
    role: plan?.role ?? wholeRole(model),
    layers: range.end - range.start,
    files,
    units,
    totalBytes: plans.reduce((sum, file) => sum + file.plan.totalBytes, 0),
    digest: digestOf(id, files),
    embedding: embeddingOf(plan),
  };
}

/** What a stage of all layers is. */
export function wholeRole({ metadata, architecture }: ModelSource): 'whole' | 'embedder' {
  return textEmbedding(metadata, architecture)?.wholeTexts ? 'embedder' : 'whole';
}

function embeddingOf(plan: StagePlan | null): StageLayout['embedding'] {
  const [tensor] = plan?.embedding?.file.tensors ?? [];
  const [offset] = plan?.embedding?.file.tensorOffsets ?? [];
  if (plan?.embedding == null || tensor === undefined || offset === undefined) return null;
  const [columns = 0, rows = 1] = tensor.dimensions;
  return { offset, type: tensor.type, rows, columns, scale: plan.embedding.scale };
}

function digestOf(model: string, files: readonly { name: string; plan: FilePlan }[]): string {
  const hash = createHash('sha256').update(model);
  for (const { name, plan } of files) {
    hash.update(`\nfile ${name} ${plan.totalBytes}\n`);
    for (const { offset, data } of plan.pieces) {
      hash.update(data.from === 'source' ? `${offset} ${data.file} ${data.offset} ${data.byteLength}\n` : `${offset} `);
      if (data.from === 'bytes') hash.update(data.bytes);
    }
  }
  return hash.digest('hex');
}
