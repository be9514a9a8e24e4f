import { z } from 'zod';
import type { ServedModel } from '../../pipeline/serving/servedModel.ts';
import { invalidField } from '../gatewayError.ts';
import { answerFields, readAnswerCall } from '../openai/answerBody.ts';
import { chatTextRequest } from '../openai/chatBody.ts';
import { refuseUnserved } from '../openai/refusedFields.ts';
import { readSampling } from '../openai/samplingBody.ts';
import { readTools, toolFields } from '../openai/toolsBody.ts';
import { parseBody } from '../parseBody.ts';
import type { ChatMessage } from '../template/chatMessage.ts';
import { type Chat, plainChat } from '../template/renderChat.ts';
import type { TemplateRenderer } from '../template/templateRenderer.ts';
import { plainShape, type TextRequest } from '../textRequest.ts';

const notServed = 'is not supported; leave it out';
const none = z.array(z.unknown()).length(0, notServed).nullish();
const stays = 'takes any time but 0: what is served stays until it is stopped';

const optionFields = z.object({
  num_ctx: z.int().min(1).nullish(),
  num_predict: z
    .int()
    .min(-2)
    .refine((count) => count !== 0, 'must not be 0')
    .nullish(),
  seed: answerFields.seed,
  stop: answerFields.stop,
  temperature: z.number().min(0).max(2).nullish(),
  top_k: z.int().min(0).max(1_000_000).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  repeat_penalty: z.number().min(0.01).max(10).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
});

const commonFields = {
  model: z.string(),
  stream: z.boolean().nullish(),
  format: z
    .union([z.literal(''), z.literal('json'), z.record(z.string(), z.unknown())], {
      error: 'must be "json" or a JSON schema',
    })
    .nullish(),
  options: optionFields.nullish(),
  think: z.union([z.boolean(), z.enum(['low', 'medium', 'high'])], 'must be a boolean, low, medium or high').nullish(),
  keep_alive: z
    .union([
      z.number().refine((seconds) => seconds !== 0, stays),
      z.string().refine((duration) => !/^[+-]?0*\.?0*[a-zµμ]*$/.test(duration), stays),
    ])
    .nullish(),
};

const chatMessage = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool'], 'must be one of system, user, assistant, tool'),
  content: z.string().nullish(),
  thinking: z.string().nullish(),
  images: none,
  tool_calls: z
    .array(z.object({ function: z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) }) }))
    .nullish(),
});

const chatBody = z.object({
  ...commonFields,
  messages: z.array(chatMessage).nullish(),
  tools: toolFields.tools,
});

const generateBody = z.object({
  ...commonFields,
  prompt: z.string().nullish(),
  system: z.string().nullish(),
  raw: z.boolean().nullish(),
});

/** A request in the shape of Ollama that is well formed; nothing of it was dropped. */
export interface OllamaCall {
  model: string;
  stream: boolean;
  /** Null asks only whether the model is there, which Ollama answers once it is loaded. */
  said: { chat: Chat } | { prompt: string } | null;
  /** Tokens that the context must hold at least. */
  context: number;
  settings: Omit<TextRequest, 'model' | 'prompt' | 'shape'>;
}

/** Reads the body of `POST /api/chat`. @throws GatewayError 400 that names the field. */
export function readOllamaChat(input: unknown): OllamaCall {
  const body = parseBody(chatBody, input);
  refuseUnserved('ollama', input);
  const call = common(body);
  const messages = chatMessages(body.messages ?? []);
  if (messages.length === 0) return { ...call, said: null };
  return { ...call, said: { chat: { ...asked(body, call.settings, messages), ...readTools({ tools: body.tools }) } } };
}

/** Reads the body of `POST /api/generate`. @throws GatewayError 400 that names the field. */
export function readOllamaGenerate(input: unknown): OllamaCall {
  const body = parseBody(generateBody, input);
  refuseUnserved('ollama', input);
  const { prompt, system, raw, think } = body;
  if (raw && system) throw invalidField('system', 'system does not go together with raw, which uses no template.');
  if (raw && think) throw invalidField('think', 'think does not go together with raw, which uses no template.');
  const call = common(body);
  if (prompt == null || prompt === '') return { ...call, said: null };
  if (raw) return { ...call, said: { prompt } };
  const first: ChatMessage[] = system ? [{ role: 'system', content: system }] : [];
  const messages: ChatMessage[] = [...first, { role: 'user', content: prompt }];
  return { ...call, said: { chat: asked(body, call.settings, messages) } };
}

/** What the model is to see of it. @throws GatewayError 400. */
export async function ollamaTextRequest(
  settings: OllamaCall['settings'],
  said: NonNullable<OllamaCall['said']>,
  { model, templates }: { model: ServedModel; templates: TemplateRenderer },
): Promise<TextRequest> {
  if ('prompt' in said) return { ...settings, model, prompt: said.prompt, shape: plainShape };
  return chatTextRequest({ chat: said.chat, settings }, model, templates);
}

function asked(
  { think }: { think?: boolean | 'low' | 'medium' | 'high' | null | undefined },
  { sampling }: OllamaCall['settings'],
  messages: readonly ChatMessage[],
): Chat {
  const effort = think == null ? null : think === true ? 'any' : think === false ? 'none' : think;
  return {
    ...plainChat(messages),
    effort,
    fields: { messages: 'messages', effort: 'think' },
    constrained: sampling.grammar !== null,
  };
}

/** Ollama's calls have no ids: results answer them in their order. */
function chatMessages(messages: readonly z.infer<typeof chatMessage>[]): ChatMessage[] {
  let calls = 0;
  let answered = 0;
  return messages.map(({ role, content, thinking, tool_calls }) => {
    const inner: ChatMessage = { role, content: content ?? '', ...(thinking == null ? {} : { reasoning: thinking }) };
    if (role === 'tool') {
      answered += 1;
      return { ...inner, toolCallId: `call_${answered}` };
    }
    if (tool_calls == null || tool_calls.length === 0) return inner;
    const toolCalls = tool_calls.map(({ function: { name, arguments: values } }) => {
      calls += 1;
      return { id: `call_${calls}`, name, arguments: JSON.stringify(values) };
    });
    return { ...inner, toolCalls };
  });
}

function common(body: z.infer<z.ZodObject<typeof commonFields>>): Omit<OllamaCall, 'said'> {
  const { num_ctx: context, num_predict: length, seed, stop, ...picking } = body.options ?? {};
  const { format } = body;
  const sampling = readSampling(
    {
      ...picking,
      ...(format === 'json' ? { response_format: { type: 'json_object' } } : {}),
      ...(typeof format === 'object' && format !== null ? { json_schema: format } : {}),
    },
    'format',
  );
  const maxTokens = length == null || length < 1 ? null : length;
  // Where OpenAI's seeds are any number, this one asks for a draw.
  const drawn = seed === -1 ? null : seed;
  const { settings } = readAnswerCall({ model: body.model, seed: drawn, stop }, { maxTokens, sampling });
  return { model: body.model, stream: body.stream ?? true, context: context ?? 0, settings };
}
