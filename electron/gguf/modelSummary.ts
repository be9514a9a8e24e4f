import { basename } from 'node:path';
import { oneLine } from './ggufError.ts';
import type { Metadata } from './metadata.ts';
import type { TensorInfo } from './readHeader.ts';
import { textEmbedding } from './textEmbedding.ts';

/** What a person wants to know of a model before serving it. */
export interface ModelSummary {
  architecture: string;
  /** `general.name`, else the file's name without its ending. */
  name: string;
  /** Weights, counted from the tensors. */
  parameters: number;
  /** As file names spell it: 'Q4_K_M', 'F16'. */
  quantisation: string;
  layers: number;
  /** Trained context in tokens, null where the file does not say. */
  contextLength: number | null;
  chatTemplate: string | null;
  /** It turns texts into vectors and writes none. */
  embedsOnly: boolean;
  licence: string | null;
}

interface SummaryInput {
  path: string;
  architecture: string;
  layers: number;
  metadata: Metadata;
  tensors: ReadonlyMap<string, TensorInfo>;
}

/** Describes a model from its header. */
export function summarise({ path, architecture, layers, metadata, tensors }: SummaryInput): ModelSummary {
  let parameters = 0;
  for (const { type, byteLength } of tensors.values()) {
    parameters += (byteLength / type.blockBytes) * type.blockElements;
  }
  // What only people read is not worth refusing a model for.
  const text = (key: string) => {
    const entry = metadata.get(key);
    return entry?.type === 'string' ? entry.value : undefined;
  };
  const fileType = metadata.get('general.file_type');
  const licence = text('general.license');
  return {
    architecture,
    name: oneLine(text('general.name')?.trim() ?? '', 200) || basename(path).replace(/(-\d{5}-of-\d{5})?\.gguf$/i, ''),
    parameters,
    quantisation: fileTypes.get(fileType?.type === 'u32' ? Number(fileType.value) : -1) ?? commonestType(tensors),
    layers,
    contextLength: metadata.count(`${architecture}.context_length`) ?? null,
    chatTemplate: text('tokenizer.chat_template') ?? null,
    embedsOnly: textEmbedding(metadata, architecture) !== null,
    licence: licence === undefined ? null : oneLine(licence, 200),
  };
}

/** The tensor type that takes most bytes. */
function commonestType(tensors: ReadonlyMap<string, TensorInfo>): string {
  const bytes = new Map<string, number>();
  for (const { type, byteLength } of tensors.values()) bytes.set(type.name, (bytes.get(type.name) ?? 0) + byteLength);
  return [...bytes].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0]?.[0] ?? 'F32';
}

/** `enum llama_ftype` of llama.h. */
const fileTypes: ReadonlyMap<number, string> = new Map([
  [0, 'F32'],
  [1, 'F16'],
  [2, 'Q4_0'],
  [3, 'Q4_1'],
  [7, 'Q8_0'],
  [8, 'Q5_0'],
  [9, 'Q5_1'],
  [10, 'Q2_K'],
  [11, 'Q3_K_S'],
  [12, 'Q3_K_M'],
  [13, 'Q3_K_L'],
  [14, 'Q4_K_S'],
  [15, 'Q4_K_M'],
  [16, 'Q5_K_S'],
  [17, 'Q5_K_M'],
  [18, 'Q6_K'],
  [19, 'IQ2_XXS'],
  [20, 'IQ2_XS'],
  [21, 'Q2_K_S'],
  [22, 'IQ3_XS'],
  [23, 'IQ3_XXS'],
  [24, 'IQ1_S'],
  [25, 'IQ4_NL'],
  [26, 'IQ3_S'],
  [27, 'IQ3_M'],
  [28, 'IQ2_S'],
  [29, 'IQ2_M'],
  [30, 'IQ4_XS'],
  [31, 'IQ1_M'],
  [32, 'BF16'],
  [36, 'TQ1_0'],
  [37, 'TQ2_0'],
  [38, 'MXFP4_MOE'],
  [39, 'NVFP4'],
  [40, 'Q1_0'],
  [41, 'Q2_0'],
]);
