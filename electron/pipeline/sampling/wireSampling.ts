import type { Sampling } from '../../wire/generated/roomful/v1/ring.ts';
import type { TokenSampling } from '../serving/servedModel.ts';

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

/** The counterpart, of a request that another member's gateway has taken. */
export function tokenSampling(sampling: Sampling): TokenSampling {
  const { biasTokens, biases, grammar, topLogprobs, promptLength: _, ...plain } = sampling;
  return {
    ...plain,
    logitBias: biasTokens.map((token, index) => [token, biases[index] ?? 0] as const),
    grammar: grammar ?? null,
    topLogprobs: topLogprobs ?? null,
  };
}
