import { type DescribedModel, describedShape } from '../../../electron/planner/describedShape.ts';
import type { ModelShape } from '../../../electron/planner/modelShape.ts';
import catalogue from '../../../resources/models.json';

export interface KnownModel {
  id: string;
  shape: ModelShape;
}

/** What people ask about although few rooms hold it, so that the catalogue does not offer it. */
const larger: readonly DescribedModel[] = [
  {
    name: 'Mistral Large 123B Q4_K_M',
    architecture: 'llama',
    layers: 88,
    hiddenSize: 12_288,
    vocabularySize: 32_768,
    contextLength: 131_072,
    bytes: 73.2e9,
    embeddingBytes: 226e6,
    outputBytes: 330e6,
    kvBytesPerToken: 4096,
    attentionHeads: 96,
    feedForwardSize: 28_672,
    parameters: 122.6e9,
  },
  {
    name: 'Llama 3.1 405B Q4_K_M',
    architecture: 'llama',
    layers: 126,
    hiddenSize: 16_384,
    vocabularySize: 128_256,
    contextLength: 131_072,
    bytes: 243e9,
    embeddingBytes: 1.18e9,
    outputBytes: 1.72e9,
    kvBytesPerToken: 4096,
    attentionHeads: 128,
    feedForwardSize: 53_248,
    parameters: 406e9,
  },
];

/** `Llama 3.3 70B Instruct Q4_K_M` is `llama-3.3-70b-instruct-q4_k_m`. */
function idOf(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-');
}

/** The models of the catalogue and some larger ones, smallest first. */
export const knownModels: readonly KnownModel[] = [...catalogue.models, ...larger]
  .sort((a, b) => a.bytes - b.bytes)
  .map((model) => ({ id: idOf(model.name), shape: describedShape(model) }));

export function knownModel(id: string): KnownModel | undefined {
  return knownModels.find((model) => model.id === id);
}
