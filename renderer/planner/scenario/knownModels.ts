import type { ModelShape } from '../../../electron/planner/modelShape.ts';

export interface KnownModel {
  id: string;
  shape: ModelShape;
}

/** Of a model's GGUF at Q4_K_M (gpt-oss: MXFP4), from its header; every layer is taken to be equal. */
interface Row {
  id: string;
  name: string;
  architecture: string;
  layers: number;
  hiddenSize: number;
  vocabularySize: number;
  contextLength: number;
  fileBytes: number;
  embeddingBytes: number;
  outputBytes: number;
  /** Of K and V together, over all heads, at f16. */
  kvBytesPerToken: number;
  attentionHeads: number;
  feedForwardSize: number;
  parameters: number;
  experts?: { count: number; usedPerToken: number; fraction: number };
  cutEvery?: number;
}

const rows: readonly Row[] = [
  {
    id: 'llama-3.1-8b',
    name: 'Llama 3.1 8B Q4_K_M',
    architecture: 'llama',
    layers: 32,
    hiddenSize: 4096,
    vocabularySize: 128_256,
    contextLength: 131_072,
    fileBytes: 4.92e9,
    embeddingBytes: 296e6,
    outputBytes: 431e6,
    kvBytesPerToken: 4096,
    attentionHeads: 32,
    feedForwardSize: 14_336,
    parameters: 8.03e9,
  },
  {
    id: 'qwen2.5-32b',
    name: 'Qwen2.5 32B Q4_K_M',
    architecture: 'qwen2',
    layers: 64,
    hiddenSize: 5120,
    vocabularySize: 152_064,
    contextLength: 32_768,
    fileBytes: 19.85e9,
    embeddingBytes: 438e6,
    outputBytes: 638e6,
    kvBytesPerToken: 4096,
    attentionHeads: 40,
    feedForwardSize: 27_648,
    parameters: 32.8e9,
  },
  {
    id: 'llama-3.3-70b',
    name: 'Llama 3.3 70B Q4_K_M',
    architecture: 'llama',
    layers: 80,
    hiddenSize: 8192,
    vocabularySize: 128_256,
    contextLength: 131_072,
    fileBytes: 42.52e9,
    embeddingBytes: 591e6,
    outputBytes: 862e6,
    kvBytesPerToken: 4096,
    attentionHeads: 64,
    feedForwardSize: 28_672,
    parameters: 70.6e9,
  },
  {
    id: 'gpt-oss-120b',
    name: 'gpt-oss 120B MXFP4',
    architecture: 'gpt-oss',
    layers: 36,
    hiddenSize: 2880,
    vocabularySize: 201_088,
    contextLength: 131_072,
    fileBytes: 63.4e9,
    embeddingBytes: 1.16e9,
    outputBytes: 1.16e9,
    kvBytesPerToken: 2048,
    attentionHeads: 64,
    feedForwardSize: 11_520,
    parameters: 117e9,
    experts: { count: 128, usedPerToken: 4, fraction: 0.97 },
    cutEvery: 2,
  },
  {
    id: 'mistral-large-123b',
    name: 'Mistral Large 123B Q4_K_M',
    architecture: 'llama',
    layers: 88,
    hiddenSize: 12_288,
    vocabularySize: 32_768,
    contextLength: 131_072,
    fileBytes: 73.2e9,
    embeddingBytes: 226e6,
    outputBytes: 330e6,
    kvBytesPerToken: 4096,
    attentionHeads: 96,
    feedForwardSize: 28_672,
    parameters: 122.6e9,
  },
  {
    id: 'llama-3.1-405b',
    name: 'Llama 3.1 405B Q4_K_M',
    architecture: 'llama',
    layers: 126,
    hiddenSize: 16_384,
    vocabularySize: 128_256,
    contextLength: 131_072,
    fileBytes: 243e9,
    embeddingBytes: 1.18e9,
    outputBytes: 1.72e9,
    kvBytesPerToken: 4096,
    attentionHeads: 128,
    feedForwardSize: 53_248,
    parameters: 406e9,
  },
];

function known({ id, fileBytes, experts, cutEvery = 1, kvBytesPerToken, ...row }: Row): KnownModel {
  const weightBytes = Math.floor((fileBytes - row.embeddingBytes - row.outputBytes) / row.layers);
  return {
    id,
    shape: {
      ...row,
      layers: Array.from({ length: row.layers }, () => ({
        weightBytes,
        kvBytesPerToken,
        slidingWindow: null,
        ...(experts && { expertBytes: Math.floor(weightBytes * experts.fraction) }),
      })),
      sharedBytes: 0,
      cutPoints: Array.from({ length: Math.ceil(row.layers / cutEvery) - 1 }, (_, index) => (index + 1) * cutEvery),
      unsplittableReason: null,
      ...(experts && { experts: { count: experts.count, usedPerToken: experts.usedPerToken } }),
    },
  };
}

/** Models that people ask about, smallest first. */
export const knownModels: readonly KnownModel[] = rows.map(known);

export function knownModel(id: string): KnownModel | undefined {
  return knownModels.find((model) => model.id === id);
}
