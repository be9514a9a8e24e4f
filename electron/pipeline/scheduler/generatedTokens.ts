import type { Committed } from '../../wire/generated/roomful/v1/ring.ts';
import type { GeneratedToken } from '../serving/servedModel.ts';

/** The tokens that the last stage has committed for one sequence, in order. */
export function generatedTokens({ tokens, logprobs }: Committed): GeneratedToken[] {
  return tokens.map((id, index) => {
    const entry = logprobs[index];
    if (entry === undefined) return { id, logprob: null, top: [] };
    const top = entry.topTokens.map((token, rank) => ({ id: token, logprob: entry.topLogprobs[rank] ?? Number.NaN }));
    return { id, logprob: entry.logprob, top };
  });
}
