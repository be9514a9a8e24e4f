import type { FastifyInstance } from 'fastify';
import type { GatewayContext } from '../gatewayContext.ts';
import { type AnswerWording, answerText } from '../openai/answerText.ts';
import type { AnswerHead, AnswerOptions } from '../openai/chatAnswer.ts';
import { chatTextRequest } from '../openai/chatBody.ts';
import { findModel, writing } from '../openai/modelsRoutes.ts';
import { readResponseBody } from './responseBody.ts';
import { ResponseStream } from './responseStream.ts';

/** `POST /v1/responses`. Nothing is stored: there is nothing to get, to cancel or to go on from afterwards. */
export function responsesRoute(app: FastifyInstance, context: GatewayContext): void {
  app.post('/v1/responses', async (request, reply) => {
    const call = readResponseBody(request.body);
    const text = await chatTextRequest(call, writing(findModel(context.models, call.model)), context.templates);
    let stream: ResponseStream | null = null;
    const begin = (head: AnswerHead, options: AnswerOptions): ResponseStream => {
      stream = new ResponseStream(head, call.echo, options);
      return stream;
    };
    const wording: AnswerWording = {
      idPrefix: 'resp_',
      promptParam: 'input',
      named: { failure: (error) => stream?.failure(error) ?? { type: 'error' } },
      chunks: (head, events, options) => begin(head, options).events(events),
      whole: (head, events, options) => begin(head, options).whole(events),
    };
    return answerText({ request, reply }, context, { call, text }, wording);
  });
}
