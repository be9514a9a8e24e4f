import type { TokenSampling } from '../serving/servedModel.ts';

/** Sampling that changes nothing: every token with the probability that the model gives it. */
export const plainSampling: Omit<TokenSampling, 'seed' | 'choice'> = {
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  logitBias: [],
  grammar: null,
  topLogprobs: null,
};

/** Takes the most probable token. */
export const greedySampling: TokenSampling = { ...plainSampling, temperature: 0, seed: 0, choice: 0 };
