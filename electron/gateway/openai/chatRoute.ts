import type { FastifyInstance } from 'fastify';
import type { GatewayContext } from '../gatewayContext.ts';
import { type AnswerWording, answerText } from './answerText.ts';
import { chatChunks, chatCompletion } from './chatAnswer.ts';
import { chatTextRequest, readChatBody } from './chatBody.ts';
import { findModel, writing } from './modelsRoutes.ts';

const wording: AnswerWording = {
  idPrefix: 'chatcmpl-',
  promptParam: 'messages',
  chunks: chatChunks,
  whole: chatCompletion,
};

/** `POST /v1/chat/completions`. */
export function chatRoute(app: FastifyInstance, context: GatewayContext): void {
  app.post('/v1/chat/completions', async (request, reply) => {
    const call = readChatBody(request.body);
    const text = await chatTextRequest(call, writing(findModel(context.models, call.model)), context.templates);
    return answerText({ request, reply }, context, { call, text }, wording);
  });
}
