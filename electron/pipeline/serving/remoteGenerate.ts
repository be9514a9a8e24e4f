import type { AnswerToken, GenerateOrder } from '../../wire/generated/roomful/v1/serving.ts';
import type { ServingClient } from '../../wire/servingClient.ts';
import type { CheckedGenerateOrder } from '../../wire/servingOrders.ts';
import type { DrivenPipeline } from '../forming/drivenPipeline.ts';
import { tokenSampling, wireSampling } from '../sampling/wireSampling.ts';
import { remoteError } from './remoteError.ts';
import type { EmbedRequest, GeneratedToken, GenerateRequest } from './servedModel.ts';

/** A pipeline, the name of who drives it, and when its queue may have room again, were it full: seconds. */
interface RemotePlace {
  pipeline: string;
  driver: string;
  retryAfter: number;
}

/** See `ServedModel.generate`, of a pipeline that another member drives. */
export async function* remoteGenerate(
  client: ServingClient,
  { pipeline, driver, retryAfter }: RemotePlace,
  request: GenerateRequest,
  signal: AbortSignal,
): AsyncGenerator<GeneratedToken, void, void> {
  const { promptTokens, answered = 0, maxTokens, sampling, bulk = false, onSeated } = request;
  const order: GenerateOrder = {
    pipeline,
    promptTokens: [...promptTokens],
    maxTokens,
    sampling: wireSampling(sampling, promptTokens.length - answered),
    bulk,
  };
  try {
    for await (const { id, logprob = null, top, cachedTokens } of client.generate(order, signal)) {
      if (cachedTokens !== undefined) onSeated?.({ cachedTokens });
      yield { id, logprob, top };
    }
  } catch (cause) {
    throw remoteError(cause, driver, retryAfter);
  }
}

/** See `ServedModel.embed`, of a pipeline that another member drives. */
export async function remoteEmbed(
  client: ServingClient,
  { pipeline, driver, retryAfter }: RemotePlace,
  { tokens, bulk = false }: EmbedRequest,
  signal: AbortSignal,
): Promise<Float32Array> {
  try {
    return await client.embed({ pipeline, tokens: [...tokens], bulk }, signal);
  } catch (cause) {
    throw remoteError(cause, driver, retryAfter);
  }
}

/** The answer to a request that another member's gateway has taken, as it goes there. */
export async function* answers(
  pipeline: Pick<DrivenPipeline, 'generate'>,
  { promptTokens, maxTokens, sampling, bulk }: CheckedGenerateOrder,
  signal: AbortSignal,
): AsyncGenerator<AnswerToken, void, void> {
  let cached: number | undefined;
  const onSeated = ({ cachedTokens }: { cachedTokens: number }): void => {
    cached = cachedTokens;
  };
  const request: GenerateRequest = {
    promptTokens,
    answered: Math.max(0, promptTokens.length - sampling.promptLength),
    maxTokens,
    sampling: tokenSampling(sampling),
    bulk,
    onSeated,
  };
  for await (const { id, logprob, top } of pipeline.generate(request, signal)) {
    yield { id, logprob: logprob ?? undefined, top: [...top], cachedTokens: cached };
    cached = undefined;
  }
}
