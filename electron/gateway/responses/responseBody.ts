import { z } from 'zod';
import { invalidField } from '../gatewayError.ts';
import { type AnswerCall, answerFields, readAnswerCall } from '../openai/answerBody.ts';
import { chatFields } from '../openai/chatBody.ts';
import { refuseUnserved } from '../openai/refusedFields.ts';
import { described, readSampling, refuseBesideTools, samplingFields } from '../openai/samplingBody.ts';
import { chatTool, chosenTools, type ToolsCall, toolName, toolParameters } from '../openai/toolsBody.ts';
import { parseBody } from '../parseBody.ts';
import type { ChatMessage } from '../template/chatMessage.ts';
import type { Chat } from '../template/renderChat.ts';

const onlyText = 'only text is supported: the models that are served here read text, and no address is fetched';
const textPart = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.literal('input_text'), text: z.string() }),
    z.object({ type: z.literal('output_text'), text: z.string() }),
    z.object({ type: z.literal('refusal'), refusal: z.string() }),
  ],
  { error: onlyText },
);
const content = z.union([z.string(), z.array(textPart)]);

const message = z.object({
  type: z.literal('message').optional(),
  role: z.enum(['system', 'developer', 'user', 'assistant'], 'must be one of system, developer, user, assistant'),
  content,
});
const otherItem = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.literal('function_call'), call_id: z.string(), name: z.string(), arguments: z.string() }),
    z.object({ type: z.literal('function_call_output'), call_id: z.string(), output: content }),
    z.object({
      type: z.literal('reasoning'),
      content: z.array(z.object({ type: z.literal('reasoning_text'), text: z.string() })).nullish(),
      summary: z.array(z.object({ type: z.literal('summary_text'), text: z.string() })).nullish(),
      encrypted_content: z.null('is not supported, since nothing here is encrypted so; leave it out').optional(),
    }),
  ],
  {
    error:
      'must be message, function_call, function_call_output or reasoning; nothing is stored that could be referred to',
  },
);

const onlyFunctions = 'only tools of type "function" are supported';
const tool = z.object({
  type: z.literal('function', onlyFunctions),
  name: toolName,
  description: z.string().nullish(),
  parameters: toolParameters.nullish(),
  strict: z.boolean().nullish(),
  defer_loading: z.literal(false, 'is not supported: every tool is told at once; leave it out').nullish(),
  allowed_callers: z.tuple([z.literal('direct')], 'takes only ["direct"]').nullish(),
  output_schema: z.null('is not supported; leave it out').optional(),
});
const named = z.object({ type: z.literal('function', onlyFunctions), name: z.string() });

const format = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.literal('text') }),
    z.object({ type: z.literal('json_object') }),
    z.object({
      type: z.literal('json_schema'),
      name: z.string(),
      schema: z.record(z.string(), z.unknown()),
      description: z.string().nullish(),
      strict: z.boolean().nullish(),
    }),
  ],
  { error: 'must be one of text, json_object, json_schema' },
);

const { logprobs: _flag, response_format: _format, ...pickingFields } = samplingFields;

const responseBody = z.object({
  ...pickingFields,
  model: answerFields.model,
  seed: answerFields.seed,
  stop: answerFields.stop,
  chat_template: chatFields.chat_template,
  chat_template_kwargs: chatFields.chat_template_kwargs,
  input: z.union([z.string(), z.array(z.unknown()).min(1, 'must hold at least one item')]),
  instructions: z.string().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  include: z.array(z.literal('message.output_text.logprobs', 'takes only "message.output_text.logprobs"')).nullish(),
  text: z.object({ format: format.nullish() }).nullish(),
  tools: z.array(tool).max(128).nullish(),
  tool_choice: z
    .union(
      [
        z.enum(['none', 'auto', 'required']),
        named,
        z.object({
          type: z.literal('allowed_tools'),
          mode: z.enum(['auto', 'required']),
          tools: z.array(named).min(1),
        }),
      ],
      { error: 'must be none, auto, required, a function by its name, or allowed_tools' },
    )
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: z.object({ effort: chatFields.reasoning_effort }).nullish(),
  metadata: z.record(z.string().max(64), z.string().max(512)).nullish(),
  service_tier: answerFields.service_tier,
  stream: z.boolean().nullish(),
});

/** What of a request an answer repeats. */
export interface ResponseEcho {
  instructions: string | null;
  max_output_tokens: number | null;
  metadata: Record<string, string>;
  parallel_tool_calls: boolean;
  reasoning: { effort: string | null; summary: null };
  temperature: number;
  text: { format: object };
  tool_choice: unknown;
  tools: readonly object[];
  top_logprobs: number;
  top_p: number;
}

/** A request of the Responses API that is well formed; nothing of it was dropped. */
export interface ResponseCall extends AnswerCall {
  chat: Chat;
  echo: ResponseEcho;
}

/**
 * Reads the body of `POST /v1/responses`. Unknown fields are ignored. Nothing is stored, so what refers to something stored is
 * refused.
 *
 * @throws GatewayError 400 that names the field.
 */
export function readResponseBody(input: unknown): ResponseCall {
  const body = parseBody(responseBody, input);
  refuseUnserved('responses', input);
  const wantsLogprobs = body.include?.includes('message.output_text.logprobs') ?? false;
  if (body.top_logprobs != null && body.top_logprobs > 0 && !wantsLogprobs) {
    const message = 'top_logprobs goes only with "include": ["message.output_text.logprobs"].';
    throw invalidField('top_logprobs', message);
  }
  const sampling = readSampling({
    ...body,
    ...(wantsLogprobs ? { logprobs: true, top_logprobs: body.top_logprobs ?? 0 } : { top_logprobs: null }),
    response_format: responseFormat(body.text?.format),
  });
  const tools = readResponseTools(body);
  refuseBesideTools(body, tools);
  const maxTokens = body.max_output_tokens ?? null;
  const { model, seed, stop, stream, service_tier } = body;
  return {
    ...readAnswerCall({ model, seed, stop, stream, service_tier }, { maxTokens, sampling }),
    chat: {
      ...tools,
      messages: [...instructionsOf(body.instructions), ...messagesOf(body.input)],
      template: body.chat_template ?? 'model',
      kwargs: body.chat_template_kwargs ?? {},
      effort: body.reasoning?.effort ?? null,
      fields: { messages: 'input', effort: 'reasoning.effort' },
      answerIs: described(responseFormat(body.text?.format)),
      constrained: sampling.grammar !== null,
    },
    echo: {
      instructions: body.instructions ?? null,
      max_output_tokens: maxTokens,
      metadata: body.metadata ?? {},
      parallel_tool_calls: tools.parallelCalls,
      reasoning: { effort: body.reasoning?.effort ?? null, summary: null },
      temperature: sampling.temperature,
      text: { format: body.text?.format ?? { type: 'text' } },
      tool_choice: body.tool_choice ?? 'auto',
      tools: body.tools ?? [],
      top_logprobs: body.top_logprobs ?? 0,
      top_p: sampling.topP,
    },
  };
}

function responseFormat(
  asked: z.infer<typeof format> | null | undefined,
): z.infer<typeof samplingFields.response_format> {
  if (asked?.type !== 'json_schema') return asked;
  const { type, ...json_schema } = asked;
  return { type, json_schema };
}

function readResponseTools(body: z.infer<typeof responseBody>): ToolsCall {
  const tools = (body.tools ?? []).map(chatTool);
  const choice = body.tool_choice ?? 'auto';
  const parallel = body.parallel_tool_calls ?? null;
  if (typeof choice === 'string') return chosenTools(tools, { mode: choice, names: null, parallel });
  if (choice.type === 'function')
    return chosenTools(tools, { mode: 'required', names: [choice.name], parallel: false });
  return chosenTools(tools, { mode: choice.mode, names: choice.tools.map(({ name }) => name), parallel });
}

function instructionsOf(instructions: string | null | undefined): ChatMessage[] {
  return instructions == null || instructions === '' ? [] : [{ role: 'system', content: instructions }];
}

/** Items as messages: the thinking and the calls of one turn go into one message of the assistant. */
function messagesOf(input: string | readonly unknown[]): ChatMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  const messages: ChatMessage[] = [];
  let reasoning: string | null = null;
  const assistant = (): ChatMessage => {
    const last = messages.at(-1);
    if (last?.role === 'assistant' && reasoning === null) return last;
    const next: ChatMessage = { role: 'assistant', content: '', ...(reasoning === null ? {} : { reasoning }) };
    reasoning = null;
    messages.push(next);
    return next;
  };
  for (const [index, one] of input.entries()) {
    const item = readItem(one, index);
    if ('role' in item) {
      if (item.role === 'assistant' && messages.at(-1)?.role !== 'assistant')
        assistant().content = textOf(item.content);
      else messages.push({ role: item.role, content: textOf(item.content) });
    } else if (item.type === 'function_call') {
      const { call_id: id, name, arguments: text } = item;
      const message = assistant();
      message.toolCalls = [...(message.toolCalls ?? []), { id, name, arguments: text }];
    } else if (item.type === 'function_call_output') {
      messages.push({ role: 'tool', content: textOf(item.output), toolCallId: item.call_id });
    } else reasoning = (item.content?.length ? item.content : (item.summary ?? [])).map(({ text }) => text).join('\n');
  }
  if (messages.length === 0) throw invalidField('input', 'input must hold at least one message.');
  return messages;
}

type InputItem = z.infer<typeof message> | z.infer<typeof otherItem>;

function readItem(item: unknown, index: number): InputItem {
  const isMessage = typeof item === 'object' && item !== null && (!('type' in item) || item.type === 'message');
  return parseBody<InputItem>(isMessage ? message : otherItem, item, ['input', String(index)]);
}

function textOf(body: z.infer<typeof content>): string {
  if (typeof body === 'string') return body;
  return body.map((one) => (one.type === 'refusal' ? one.refusal : one.text)).join('');
}
