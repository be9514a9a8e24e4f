import { greedySampling } from '../../electron/pipeline/sampling/plainSampling.ts';
import type { ServedModel, TokenSampling } from '../../electron/pipeline/serving/servedModel.ts';

/** The tokens that a served model answers with, its end token included. */
export async function generated(
  model: ServedModel,
  promptTokens: readonly number[],
  maxTokens: number,
  sampling: TokenSampling = greedySampling,
): Promise<number[]> {
  const tokens: number[] = [];
  const request = { promptTokens, maxTokens, sampling };
  for await (const { id } of model.generate(request, new AbortController().signal)) tokens.push(id);
  return tokens;
}
