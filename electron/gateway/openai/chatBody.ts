import { z } from 'zod';
import type { ServedModel } from '../../pipeline/servedModel.ts';
import { type ChatMessage, renderChat, type TemplateChoice } from '../chatTemplate.ts';
import { invalidField } from '../gatewayError.ts';
import { parseBody } from '../parseBody.ts';
import type { TextRequest } from '../textRequest.ts';
import { type AnswerCall, answerFields, readAnswerCall, refuseUnknownBias } from './answerBody.ts';
import { refuseUnservedChatFields } from './refusedFields.ts';
import { readSampling, samplingFields } from './samplingBody.ts';

const part = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.literal('text'), text: z.string() }),
    z.object({ type: z.literal('refusal'), refusal: z.string() }),
  ],
  { error: 'only parts of type "text" are supported' },
);
const content = z.union([z.string(), z.array(part)]).nullable();
const name = z.string().nullish();
const toolCall = z.object({
  id: z.string(),
  type: z.literal('function', 'only calls of type "function" are supported'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});
const nothing = z.null('is not supported').optional();

const message = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.literal('system'), content, name }),
    z.object({ role: z.literal('developer'), content, name }),
    z.object({ role: z.literal('user'), content, name }),
    z.object({
      role: z.literal('assistant'),
      content: content.optional(),
      name,
      refusal: z.string().nullish(),
      tool_calls: z.array(toolCall).nullish(),
      audio: nothing,
      function_call: nothing,
    }),
    z.object({ role: z.literal('tool'), content, tool_call_id: z.string() }),
  ],
  { error: 'must be one of system, developer, user, assistant, tool' },
);

const chatBody = z.object({
  ...answerFields,
  messages: z.array(message).min(1, 'must hold at least one message'),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  ...samplingFields,
  chat_template: z.literal('chatml', 'must be left out, or "chatml" for a generic template').nullish(),
});

/** A chat request that is well formed; nothing of it was dropped. */
export interface ChatCall extends AnswerCall {
  messages: ChatMessage[];
  template: TemplateChoice;
}

/**
 * Reads the body of `POST /v1/chat/completions`. Unknown fields are ignored. Left out, `temperature` and `top_p` are 1,
 * as OpenAI has it, and the length is what is left of the context.
 *
 * @throws GatewayError 400 that names the field.
 */
export function readChatBody(input: unknown): ChatCall {
  const body = parseBody(chatBody, input);
  if (typeof input === 'object' && input !== null) refuseUnservedChatFields(input);
  const { max_tokens: maxTokens, max_completion_tokens: maxCompletionTokens } = body;
  if (maxTokens != null && maxCompletionTokens != null && maxTokens !== maxCompletionTokens) {
    throw invalidField('max_tokens', 'max_tokens is the old name of max_completion_tokens; send one of them.');
  }
  const settings = { maxTokens: maxCompletionTokens ?? maxTokens ?? null, sampling: readSampling(body) };
  return {
    ...readAnswerCall(body, settings),
    messages: body.messages.map(chatMessage),
    template: body.chat_template ?? 'model',
  };
}

/**
 * The chat as its model is to see it.
 *
 * @throws GatewayError 400 for a bias of a token that the model does not have.
 */
export function chatTextRequest(call: ChatCall, model: ServedModel): TextRequest {
  refuseUnknownBias(call, model);
  const { prompt, stop } = renderChat(model, call.messages, call.template);
  return { ...call.settings, model, prompt, stop: [...call.settings.stop, ...stop] };
}

function chatMessage(body: z.infer<typeof message>): ChatMessage {
  const inner: ChatMessage = { role: body.role, content: contentText(body.content) };
  if (body.role === 'tool') return { ...inner, toolCallId: body.tool_call_id };
  if (body.name != null) inner.name = body.name;
  if (body.role !== 'assistant') return inner;
  if (body.content == null && body.refusal != null) inner.content = body.refusal;
  if (body.tool_calls == null || body.tool_calls.length === 0) return inner;
  const toolCalls = body.tool_calls.map((call) => ({ id: call.id, ...call.function }));
  return { ...inner, toolCalls };
}

function contentText(body: z.infer<typeof content> | undefined): string {
  if (body == null) return '';
  if (typeof body === 'string') return body;
  return body.map((one) => (one.type === 'text' ? one.text : one.refusal)).join('');
}
