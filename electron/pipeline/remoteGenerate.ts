import type { AnswerToken, GenerateOrder } from '../wire/generated/roomful/v1/serving.ts';
import type { ServingClient } from '../wire/servingClient.ts';
import type { CheckedGenerateOrder } from '../wire/servingOrders.ts';
import { remoteError } from './remoteError.ts';
import type { GeneratedToken, GenerateRequest } from './servedModel.ts';
import { tokenSampling, wireSampling } from './wireSampling.ts';

/** See `ServedModel.generate`, of a pipeline that another member drives. */
export async function* remoteGenerate(
  client: ServingClient,
  { pipeline, driver }: { pipeline: string; driver: string },
  request: GenerateRequest,
  signal: AbortSignal,
): AsyncGenerator<GeneratedToken, void, void> {
  const { promptTokens, maxTokens, sampling } = request;
  const order: GenerateOrder = {
    pipeline,
    promptTokens: [...promptTokens],
    maxTokens,
    sampling: wireSampling(sampling, promptTokens.length),
  };
  try {
    for await (const { id, logprob = null, top } of client.generate(order, signal)) yield { id, logprob, top };
  } catch (cause) {
    throw remoteError(cause, driver);
  }
}

/** The request that another member's gateway has taken. */
export function requestOf({ promptTokens, maxTokens, sampling }: CheckedGenerateOrder): GenerateRequest {
  return { promptTokens, maxTokens, sampling: tokenSampling(sampling) };
}

/** Tokens as they go to the member whose gateway asked. */
export async function* answersOf(tokens: AsyncIterable<GeneratedToken>): AsyncGenerator<AnswerToken, void, void> {
  for await (const { id, logprob, top } of tokens) yield { id, logprob: logprob ?? undefined, top: [...top] };
}
