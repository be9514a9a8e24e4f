import type { FastifyReply, FastifyRequest } from 'fastify';
import { admitRequest } from '../admitRequest.ts';
import type { GatewayContext } from '../gatewayContext.ts';
import { type ChoiceEvent, generateChoices } from '../generateChoices.ts';
import { disconnectSignal } from '../http/disconnectSignal.ts';
import { type EventStreamOptions, sendEvents } from '../http/sendEvents.ts';
import { started } from '../http/started.ts';
import type { TextRequest } from '../textRequest.ts';
import type { AnswerCall } from './answerBody.ts';
import type { AnswerHead, AnswerOptions } from './chatAnswer.ts';

/** How an API words its answers. */
export interface AnswerWording {
  /** `chatcmpl-`, `cmpl-` or `resp_`. */
  idPrefix: string;
  /** See `EventStreamOptions`. */
  named?: NonNullable<EventStreamOptions['named']>;
  /** The field that a prompt that is too long is blamed on. */
  promptParam: string;
  chunks(head: AnswerHead, events: AsyncIterable<ChoiceEvent>, options: AnswerOptions): AsyncIterable<object>;
  whole(head: AnswerHead, events: AsyncIterable<ChoiceEvent>, options: AnswerOptions): Promise<object>;
}

/** Generates what a request asks for and answers it, streamed or whole. */
export async function answerText(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { build, keepAliveMs, failureGraceMs }: GatewayContext,
  { call, text }: { call: AnswerCall; text: TextRequest },
  { idPrefix, promptParam, named, chunks, whole }: AnswerWording,
): Promise<object | undefined> {
  const signal = disconnectSignal(reply);
  const admitted = await admitRequest(text, promptParam);
  const { promptTokens, maxTokens, seed } = admitted;
  const model = text.model.id;
  request.log.info({ model, promptTokens: promptTokens.length, maxTokens, seed }, 'generation admitted');
  const head: AnswerHead = {
    id: `${idPrefix}${request.id}`,
    created: Math.floor(Date.now() / 1000),
    model,
    system_fingerprint: `roomful-${build}`,
    ...(call.tier === null ? {} : { service_tier: call.tier }),
  };
  const { choices, includeUsage } = call;
  const options = { choices, includeUsage, logprobs: call.settings.sampling.topLogprobs !== null };
  if (!call.stream) return whole(head, generateChoices(admitted, choices, signal), options);
  const events = await started((goes) => generateChoices(admitted, choices, signal, goes), failureGraceMs);
  await sendEvents(reply, chunks(head, events, options), {
    signal,
    keepAliveMs,
    onError: (error) => request.log.error({ err: error }, 'stream ended with an error'),
    ...(named === undefined ? {} : { named }),
  });
  return undefined;
}
