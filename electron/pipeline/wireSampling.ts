import type { Sampling } from '../wire/generated/roomful/v1/ring.ts';
import type { TokenSampling } from './servedModel.ts';

/** How the last stage is told to sample a sequence of which the first `promptLength` tokens are no answer. */
export function wireSampling(sampling: TokenSampling, promptLength: number): Sampling {
  const { logitBias, grammar, topLogprobs, ...plain } = sampling;
  return {
    ...plain,
    biasTokens: logitBias.map(([token]) => token),
    biases: logitBias.map(([, bias]) => bias),
    grammar: grammar ?? undefined,
    promptLength,
    topLogprobs: topLogprobs ?? undefined,
  };
}
