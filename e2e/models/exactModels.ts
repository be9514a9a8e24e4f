import type { RandomModel } from './generateModel.ts';

/** Every architecture that may be cut, with a head of its own and without: what exactness is tested on. */
export const exactModels: readonly (readonly [name: string, Pick<RandomModel, 'architecture' | 'tied'>])[] = [
  ['llama, tied', { architecture: 'llama', tied: true }],
  ['llama, untied', { architecture: 'llama', tied: false }],
  ['qwen2', { architecture: 'qwen2', tied: true }],
  ['qwen3', { architecture: 'qwen3', tied: false }],
];
export const exactShape = {
  ...{ layers: 6, width: 64, heads: 4, kvHeads: 2, feedForward: 128 },
  ...{ vocabulary: 512, seed: 11 },
};
