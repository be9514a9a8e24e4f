import type { ServedModel, TokenSampling } from '../../electron/pipeline/servedModel.ts';

export const greedy: TokenSampling = { temperature: 0, topP: 1, seed: 0, choice: 0 };

/** The tokens that a served model answers with, its end token included. */
export async function generated(
  model: ServedModel,
  promptTokens: readonly number[],
  maxTokens: number,
  sampling: TokenSampling = greedy,
): Promise<number[]> {
  const tokens: number[] = [];
  const request = { promptTokens, maxTokens, sampling };
  for await (const token of model.generate(request, new AbortController().signal)) tokens.push(token);
  return tokens;
}
