import type { TextUsage } from '../textRequest.ts';

/** OpenAI's `usage`. */
export interface OpenAiUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  /** Left out where nobody says how much of the prompt was there already. */
  prompt_tokens_details?: { cached_tokens: number };
  /** Left out where the model did not think aloud. */
  completion_tokens_details?: { reasoning_tokens: number };
}

/** What all choices of an answer took; their prompt counts once, as OpenAI counts it. */
export function answerUsage(choices: readonly TextUsage[]): OpenAiUsage {
  const [first] = choices;
  const prompt = first?.promptTokens ?? 0;
  const completion = choices.reduce((sum, { completionTokens }) => sum + completionTokens, 0);
  const reasoning = choices.reduce((sum, { reasoningTokens }) => sum + reasoningTokens, 0);
  const cached = first?.cachedTokens ?? null;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(cached === null ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
    ...(reasoning === 0 ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}
