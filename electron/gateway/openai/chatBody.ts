import { z } from 'zod';
import type { ServedModel } from '../../pipeline/serving/servedModel.ts';
import { parseBody } from '../parseBody.ts';
import type { ChatMessage } from '../template/chatMessage.ts';
import { genericTemplates } from '../template/genericTemplates.ts';
import { type Chat, chatFieldNames, renderChat } from '../template/renderChat.ts';
import type { TemplateRenderer } from '../template/templateRenderer.ts';
import { efforts } from '../template/templateVariables.ts';
import type { TextRequest } from '../textRequest.ts';
import { orCall } from '../tools/callPlan.ts';
import {
  type AnswerCall,
  answerFields,
  lengthFields,
  readAnswerCall,
  readLength,
  refuseUnknownBias,
} from './answerBody.ts';
import { refuseUnserved } from './refusedFields.ts';
import { described, readSampling, refuseBesideTools, samplingFields } from './samplingBody.ts';
import { readTools, toolFields } from './toolsBody.ts';

const part = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.literal('text'), text: z.string() }),
    z.object({ type: z.literal('refusal'), refusal: z.string() }),
  ],
  {
    error:
      'only parts of type "text" are supported: the models that are served here read text, and no address is fetched',
  },
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
      reasoning_content: z.string().nullish(),
      tool_calls: z.array(toolCall).nullish(),
      audio: nothing,
      function_call: nothing,
    }),
    z.object({ role: z.literal('tool'), content, name, tool_call_id: z.string() }),
  ],
  { error: 'must be one of system, developer, user, assistant, tool' },
);

const templateNames = ['generic', ...Object.keys(genericTemplates)].join(', ');

/** What the template is told, in the words of llama-server and vLLM. */
export const chatFields = {
  chat_template: z
    .custom<Chat['template']>(
      (name) => name === 'generic' || (typeof name === 'string' && Object.hasOwn(genericTemplates, name)),
      `must be left out, or one of ${templateNames}`,
    )
    .nullish(),
  chat_template_kwargs: z.record(z.string(), z.json()).nullish(),
  reasoning_effort: z.enum(efforts, 'must be none, minimal, low, medium, high, xhigh or max').nullish(),
};

const chatBody = z.object({
  ...answerFields,
  messages: z.array(message).min(1, 'must hold at least one message'),
  ...lengthFields,
  ...samplingFields,
  ...toolFields,
  ...chatFields,
});

/** A chat request that is well formed; nothing of it was dropped. */
export interface ChatCall extends AnswerCall {
  chat: Chat;
}

/**
 * Reads the body of `POST /v1/chat/completions`. Unknown fields are ignored. Left out, `temperature` and `top_p` are 1,
 * as OpenAI has it, and the length is what is left of the context.
 *
 * @throws GatewayError 400 that names the field.
 */
export function readChatBody(input: unknown): ChatCall {
  const body = parseBody(chatBody, input);
  refuseUnserved('chat', input);
  const maxTokens = readLength(body);
  const sampling = readSampling(body);
  const tools = readTools(body);
  refuseBesideTools(body, tools);
  return {
    ...readAnswerCall(body, { maxTokens, sampling }),
    chat: {
      ...tools,
      messages: body.messages.map(chatMessage),
      template: body.chat_template ?? 'model',
      kwargs: body.chat_template_kwargs ?? {},
      effort: body.reasoning_effort ?? null,
      fields: chatFieldNames,
      answerIs: described(body.response_format),
      constrained: sampling.grammar !== null,
    },
  };
}

/**
 * The chat as its model is to see it.
 *
 * @throws GatewayError 400 for a bias of a token that the model does not have, and as `renderChat`.
 */
export async function chatTextRequest(
  call: Pick<ChatCall, 'chat' | 'settings'>,
  model: ServedModel,
  templates: TemplateRenderer,
): Promise<TextRequest> {
  refuseUnknownBias(call, model);
  const { prompt, shape, stop } = await renderChat(model, call.chat, templates);
  const { sampling } = call.settings;
  const { calls } = shape;
  const grammar =
    sampling.grammar === null || calls === null ? sampling.grammar : orCall(sampling.grammar, calls.format);
  return {
    ...call.settings,
    ...{ model, prompt, shape, sampling: { ...sampling, grammar }, stop: [...call.settings.stop, ...stop] },
  };
}

function chatMessage(body: z.infer<typeof message>): ChatMessage {
  const inner: ChatMessage = { role: body.role, content: contentText(body.content) };
  if (body.name != null && body.name !== '') inner.name = body.name;
  if (body.role === 'tool') return { ...inner, toolCallId: body.tool_call_id };
  if (body.role !== 'assistant') return inner;
  if (body.content == null && body.refusal != null) inner.content = body.refusal;
  if (body.reasoning_content != null) inner.reasoning = body.reasoning_content;
  if (body.tool_calls == null || body.tool_calls.length === 0) return inner;
  const toolCalls = body.tool_calls.map((call) => ({ id: call.id, ...call.function }));
  return { ...inner, toolCalls };
}

function contentText(body: z.infer<typeof content> | undefined): string {
  if (body == null) return '';
  if (typeof body === 'string') return body;
  return body.map((one) => (one.type === 'text' ? one.text : one.refusal)).join('');
}
