import type { FastifyInstance } from 'fastify';
import { admitRequest } from '../admitRequest.ts';
import type { GatewayContext } from '../gatewayContext.ts';
import { generateText } from '../generateText.ts';
import { disconnectSignal } from '../http/disconnectSignal.ts';
import { sendEvents } from '../http/sendEvents.ts';
import { started } from '../http/started.ts';
import { type AnswerHead, chatChunks, chatCompletion } from './chatAnswer.ts';
import { chatTextRequest, readChatBody } from './chatBody.ts';
import { findModel } from './modelsRoutes.ts';

/** `POST /v1/chat/completions`. */
export function chatRoute(app: FastifyInstance, { models, build, keepAliveMs, failureGraceMs }: GatewayContext): void {
  app.post('/v1/chat/completions', async (request, reply) => {
    const signal = disconnectSignal(reply);
    const call = readChatBody(request.body);
    const model = findModel(models, call.model);
    const admitted = await admitRequest(chatTextRequest(call, model), 'messages');
    const { promptTokens, maxTokens, seed } = admitted;
    request.log.info({ model: model.id, promptTokens: promptTokens.length, maxTokens, seed }, 'generation admitted');
    const head: AnswerHead = {
      id: `chatcmpl-${request.id}`,
      created: Math.floor(Date.now() / 1000),
      model: model.id,
      system_fingerprint: `roomful-${build}`,
    };
    const logprobs = call.settings.sampling.topLogprobs !== null;
    const events = generateText(admitted, signal);
    if (!call.stream) return chatCompletion(head, events, { logprobs });
    const options = { includeUsage: call.includeUsage, logprobs };
    const chunks = chatChunks(head, await started(events, failureGraceMs), options);
    await sendEvents(reply, chunks, {
      signal,
      keepAliveMs,
      onError: (error) => request.log.error({ err: error }, 'stream ended with an error'),
    });
  });
}
