import { z } from 'zod';
import type { ServedModel } from '../../pipeline/serving/servedModel.ts';
import { invalidField } from '../gatewayError.ts';
import type { TextRequest } from '../textRequest.ts';

const MAX_STOP_STRINGS = 32;
const MAX_STOP_LENGTH = 1024; // UTF-16 units
const MAX_CHOICES = 8;

const stopString = z
  .string()
  .min(1, 'a stop string must not be empty')
  .max(MAX_STOP_LENGTH)
  .refine((text) => !/\p{Surrogate}/u.test(text), 'a stop string must be whole characters');

/** The fields that chats and completions share, beside those of sampling. */
export const answerFields = {
  model: z.string(),
  n: z.int().min(1).max(MAX_CHOICES).nullish(),
  seed: z.int().nullish(),
  stop: z.union([stopString, z.array(stopString).max(MAX_STOP_STRINGS)]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  service_tier: z
    .enum(['auto', 'default', 'flex'], 'must be auto, default, or flex for what may wait for others')
    .nullish(),
};
const answerBody = z.object(answerFields);

/** How long an answer may be, by its old name and its new one. */
export const lengthFields = {
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
};
const lengthBody = z.object(lengthFields);

/** How an answer is to come, whatever it is made of. */
export interface AnswerCall {
  model: string;
  /** How many answers. */
  choices: number;
  stream: boolean;
  includeUsage: boolean;
  /** Said in the answer where it was asked for. */
  tier: 'default' | 'flex' | null;
  settings: Omit<TextRequest, 'model' | 'prompt' | 'shape'>;
}

/** @throws GatewayError 400 that names the field. */
export function readAnswerCall(
  body: z.infer<typeof answerBody>,
  { maxTokens, sampling }: Pick<TextRequest, 'maxTokens' | 'sampling'>,
): AnswerCall {
  const stream = body.stream ?? false;
  if (body.stream_options != null && !stream) {
    throw invalidField('stream_options', 'stream_options goes only with "stream": true.');
  }
  return {
    model: body.model,
    choices: body.n ?? 1,
    stream,
    includeUsage: body.stream_options?.include_usage ?? false,
    tier: body.service_tier == null ? null : body.service_tier === 'flex' ? 'flex' : 'default',
    settings: {
      maxTokens,
      sampling,
      seed: body.seed == null ? null : unsigned(body.seed),
      bulk: body.service_tier === 'flex',
      stop: typeof body.stop === 'string' ? [body.stop] : (body.stop ?? []),
    },
  };
}

/** Null where nothing is said. @throws GatewayError 400 where both names say different lengths. */
export function readLength(body: z.infer<typeof lengthBody>): number | null {
  const { max_tokens: old, max_completion_tokens: length } = body;
  if (old != null && length != null && old !== length) {
    throw invalidField('max_tokens', 'max_tokens is the old name of max_completion_tokens; send one of them.');
  }
  return length ?? old ?? null;
}

/** @throws GatewayError 400 for a bias of a token that the model does not have. */
export function refuseUnknownBias({ settings }: Pick<AnswerCall, 'settings'>, model: ServedModel): void {
  const tokens = model.pieces.offsets.length - 1;
  const unknown = settings.sampling.logitBias.find(([token]) => token >= tokens);
  if (unknown === undefined) return;
  throw invalidField('logit_bias', `logit_bias names token ${unknown[0]}, but ${model.id} has ${tokens} tokens.`);
}

/** Negative seeds are as good as others; a sampler takes them unsigned. */
function unsigned(seed: number): number {
  return seed < 0 ? Number.MAX_SAFE_INTEGER + 1 + seed : seed;
}
