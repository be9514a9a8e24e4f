import { type ArchitectureRules, architectureRules, type LayerRange } from './architectures.ts';
import { type EncodableValue, encodeArrayEntry, encodeEntry } from './encodeHeader.ts';
import { type FilePlan, layOut, type Piece, type PlannedTensor } from './filePlan.ts';
import { F32 } from './ggmlType.ts';
import { UnsplittableError } from './ggufError.ts';
import type { MetadataEntry } from './metadata.ts';
import type { ModelSource } from './openModel.ts';
import type { TensorInfo } from './readHeader.ts';
import { layerOf, splittability } from './splittability.ts';
import { planVocabulary } from './writeVocabulary.ts';

/** The files of one stage, down to the byte; every piece names the range of the source that it comes from. */
export interface StagePlan {
  role: 'first' | 'middle' | 'last';
  layers: number;
  /** What llama.cpp loads. */
  stage: FilePlan;
  /** The token embedding, whose rows the first stage looks up itself; null on later stages. */
  embedding: { file: FilePlan; scale: number } | null;
  /** The tokenizer, which the last stage needs for grammars; null on earlier stages. */
  vocabulary: FilePlan | null;
}

/**
 * Plans the GGUF of layers [start, end): a pure function of the header. What stock llama.cpp needs beside the layers is
 * a vocabulary of one token on all stages but the last, which holds the head under the name of the embedding.
 * Throws `UnsplittableError` where the model may not be cut, or not there, and for the whole range, which is no stage.
 */
export function planStageFile(
  model: ModelSource,
  range: LayerRange,
  rules: ArchitectureRules | undefined = architectureRules(model.architecture),
): StagePlan {
  const { cutPoints, unsplittableReason } = splittability(model, rules);
  const path = model.files[0]?.path ?? '';
  if (rules === undefined || unsplittableReason !== null) {
    throw new UnsplittableError(path, unsplittableReason ?? 'its architecture has no rules');
  }
  checkRange(path, model, range, cutPoints);
  const { start, end } = range;
  const isLast = end === model.layers;
  const embedding = tensorOf(model, 'token_embd.weight');
  const columns = embedding.dimensions[0] ?? 0;
  const rows = embedding.dimensions[1] ?? 1;
  const tensors = [
    ...(isLast ? headTensors(model, rules) : fillerTensors(columns, rules)),
    ...layerTensors(model, rules, range),
  ];
  const metadata = stageMetadata(model, rules, range, isLast ? rows : 1);
  return {
    role: start === 0 ? 'first' : isLast ? 'last' : 'middle',
    layers: end - start,
    stage: layOut({ alignment: model.alignment, metadata, tensors }),
    embedding: start === 0 ? planEmbedding(model, embedding, rules) : null,
    vocabulary: isLast ? planVocabulary(model) : null,
  };
}

function checkRange(path: string, model: ModelSource, { start, end }: LayerRange, cutPoints: readonly number[]): void {
  const whole = `layers ${start} to ${end} of ${model.layers}`;
  if (!Number.isInteger(start) || !Number.isInteger(end) || start < 0 || end <= start || end > model.layers) {
    throw new UnsplittableError(path, `${whole} are no range`);
  }
  if (start === 0 && end === model.layers) {
    throw new UnsplittableError(path, 'all layers together are no stage; load the model itself');
  }
  for (const cut of [start, end]) {
    if (cut !== 0 && cut !== model.layers && !cutPoints.includes(cut)) {
      throw new UnsplittableError(path, `no stage may begin at layer ${cut} of this model`);
    }
  }
}

function tensorOf(model: ModelSource, name: string): TensorInfo {
  const tensor = model.tensors.get(name);
  if (tensor === undefined) throw new UnsplittableError(model.files[0]?.path ?? '', `it holds no '${name}'`);
  return tensor;
}

function copyOf(tensor: TensorInfo, name = tensor.name): PlannedTensor {
  const { type, dimensions, byteLength, file, offset } = tensor;
  return { name, type: type.id, dimensions, byteLength, data: { from: 'source', file, offset, byteLength } };
}

/** llama.cpp takes the head from `token_embd` where there is no `output`: tied and untied models end alike. */
function headTensors(model: ModelSource, rules: ArchitectureRules): PlannedTensor[] {
  const embedding = tensorOf(model, 'token_embd.weight');
  const output = model.tensors.get('output.weight') ?? embedding;
  const heads = rules.demandsOutput
    ? [copyOf(embedding), copyOf(output, 'output.weight')]
    : [copyOf(output, 'token_embd.weight')];
  const more = rules.headTensors.flatMap((name) => model.tensors.get(name) ?? []);
  return [...heads, ...[tensorOf(model, 'output_norm.weight'), ...more].map((tensor) => copyOf(tensor))];
}

/** A vocabulary of one token, so that the head of a stage that has none costs nothing. */
function fillerTensors(columns: number, rules: ArchitectureRules): PlannedTensor[] {
  const filler = (name: string, dimensions: number[], value: number): PlannedTensor => {
    const bytes = new Uint8Array(new Float32Array(columns).fill(value).buffer);
    return { name, type: F32, dimensions, byteLength: bytes.byteLength, data: { from: 'bytes', bytes } };
  };
  return [
    filler('token_embd.weight', [columns, 1], 0),
    filler('output_norm.weight', [columns], 1),
    ...(rules.demandsOutput ? [filler('output.weight', [columns, 1], 0)] : []),
  ];
}

function layerTensors(model: ModelSource, rules: ArchitectureRules, { start, end }: LayerRange): PlannedTensor[] {
  const shared = new Set(rules.sharedTensors);
  const planned: PlannedTensor[] = [];
  for (const tensor of model.tensors.values()) {
    const layer = layerOf(tensor.name);
    if (layer === null && shared.has(tensor.name)) planned.push(copyOf(tensor));
    if (layer === null || layer < start || layer >= end) continue;
    planned.push(copyOf(tensor, tensor.name.replace(/^blk\.\d+/, `blk.${layer - start}`)));
  }
  return planned;
}

function stageMetadata(
  model: ModelSource,
  rules: ArchitectureRules,
  range: LayerRange,
  vocabulary: number,
): { key: string; data: Piece }[] {
  const changed = changedMetadata(model, rules, range, vocabulary);
  const metadata: { key: string; data: Piece }[] = [];
  for (const entry of model.metadata.entries()) {
    if (changed.has(entry.key) || /^(tokenizer|split)\./.test(entry.key)) continue;
    metadata.push({ key: entry.key, data: sliceEntry(model, entry, range) });
  }
  for (const [key, value] of changed) metadata.push({ key, data: { from: 'bytes', bytes: encodeEntry(key, value) } });
  return metadata;
}

function changedMetadata(
  model: ModelSource,
  rules: ArchitectureRules,
  range: LayerRange,
  vocabulary: number,
): Map<string, EncodableValue> {
  const { architecture, metadata } = model;
  const { start, end } = range;
  const layers = end - start;
  const changed = new Map<string, EncodableValue>([
    ['tokenizer.ggml.model', { type: 'string', value: 'none' }],
    [`${architecture}.vocab_size`, { type: 'u32', value: vocabulary }],
    [`${architecture}.block_count`, { type: 'u32', value: layers }],
  ]);
  const dense = metadata.count(`${architecture}.leading_dense_block_count`);
  if (dense !== undefined) {
    const value = Math.min(Math.max(dense - start, 0), layers);
    changed.set(`${architecture}.leading_dense_block_count`, { type: 'u32', value });
  }
  if (metadata.count(`${architecture}.nextn_predict_layers`) !== undefined) {
    changed.set(`${architecture}.nextn_predict_layers`, { type: 'u32', value: 0 });
  }
  // llama.cpp multiplies every input by it, activations too.
  if (metadata.number(`${architecture}.embedding_scale`) !== undefined && start > 0) {
    changed.set(`${architecture}.embedding_scale`, { type: 'f32', value: 0 });
  }
  for (const [key, value] of rules.metadata?.(model, range) ?? []) changed.set(key, value);
  return changed;
}

/** An entry as it is, or the elements of these layers where it has one element per layer. */
function sliceEntry(model: ModelSource, entry: MetadataEntry, { start, end }: LayerRange): Piece {
  const { architecture, layers } = model;
  const isPerLayer =
    entry.type === 'array' &&
    entry.count === layers &&
    entry.key.startsWith(`${architecture}.`) &&
    entry.key !== `${architecture}.rope.dimension_sections`;
  if (isPerLayer && entry.element !== 'string' && entry.bytes !== null) {
    const size = entry.bytes.byteLength / entry.count;
    const elements = entry.bytes.subarray(start * size, end * size);
    return { from: 'bytes', bytes: encodeArrayEntry(entry.key, entry.element, elements) };
  }
  return { from: 'source', file: 0, offset: entry.offset, byteLength: entry.byteLength };
}

function planEmbedding(model: ModelSource, tensor: TensorInfo, rules: ArchitectureRules): StagePlan['embedding'] {
  const kept = ['general.architecture', 'general.alignment'].flatMap((key) => model.metadata.get(key) ?? []);
  const metadata = kept.map(({ key, offset, byteLength }) => ({
    key,
    data: { from: 'source', file: 0, offset, byteLength } as const,
  }));
  const file = layOut({ alignment: model.alignment, metadata, tensors: [copyOf(tensor)] });
  return { file, scale: rules.embeddingScale?.(model) ?? 1 };
}
