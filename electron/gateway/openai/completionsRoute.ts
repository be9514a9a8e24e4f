import type { FastifyInstance } from 'fastify';
import type { GatewayContext } from '../gatewayContext.ts';
import { type AnswerWording, answerText } from './answerText.ts';
import { completionChunks, textCompletion } from './completionAnswer.ts';
import { completionTextRequest, echoText, readCompletionBody } from './completionBody.ts';
import { findModel, writing } from './modelsRoutes.ts';

/** `POST /v1/completions`, as OpenAI had it before chats. */
export function completionsRoute(app: FastifyInstance, context: GatewayContext): void {
  app.post('/v1/completions', async (request, reply) => {
    const call = readCompletionBody(request.body);
    const model = writing(findModel(context.models, call.model));
    const text = completionTextRequest(call, model);
    const echo = echoText(call, model);
    const wording: AnswerWording = {
      idPrefix: 'cmpl-',
      promptParam: 'prompt',
      chunks: (head, events, options) => completionChunks(head, events, { ...options, echo }),
      whole: (head, events, options) => textCompletion(head, events, { ...options, echo }),
    };
    return answerText({ request, reply }, context, { call, text }, wording);
  });
}
