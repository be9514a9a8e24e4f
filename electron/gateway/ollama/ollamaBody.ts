import { z } from 'zod';
import type { ServedModel } from '../../pipeline/servedModel.ts';
import { readAnswerCall } from '../openai/answerBody.ts';
import { readSampling } from '../openai/samplingBody.ts';
import { parseBody } from '../parseBody.ts';
import type { ChatMessage } from '../template/chatMessage.ts';
import { type Chat, plainChat, renderChat } from '../template/renderChat.ts';
import type { TemplateRenderer } from '../template/templateRenderer.ts';
import { plainShape, type TextRequest } from '../textRequest.ts';

const notServed = 'is not supported; leave it out';
const none = z.array(z.unknown()).length(0, notServed).nullish();
const off = z.literal(false, notServed).nullish();
const noText = z.literal('', notServed).nullish();

/** What loads a model (num_gpu, num_thread and the like) is settled when it is served, and ignored as unknown. */
const optionFields = z.object({
  num_ctx: z.int().min(1).nullish(),
  num_predict: z
    .int()
    .min(-2)
    .refine((count) => count !== 0, 'must not be 0')
    .nullish(),
  seed: z.int().nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_k: z.int().min(0).max(1_000_000).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  repeat_penalty: z.number().min(0.01).max(10).nullish(),
  repeat_last_n: z.literal(-1, 'takes only -1, the whole context').nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  mirostat: z.literal(0, notServed).nullish(),
  tfs_z: z.literal(1, notServed).nullish(),
  typical_p: z.literal(1, notServed).nullish(),
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
  logprobs: off,
  top_logprobs: z.literal(0, notServed).nullish(),
};

const chatBody = z.object({
  ...commonFields,
  messages: z
    .array(
      z.object({
        role: z.enum(['system', 'user', 'assistant'], 'must be one of system, user, assistant'),
        content: z.string(),
        images: none,
        tool_calls: none,
      }),
    )
    .nullish(),
  tools: none,
});

const generateBody = z.object({
  ...commonFields,
  prompt: z.string().nullish(),
  system: z.string().nullish(),
  raw: z.boolean().nullish(),
  suffix: noText,
  template: noText,
  context: none,
  images: none,
});

/** A request in the shape of Ollama that is well formed; nothing of it was dropped. */
export interface OllamaCall {
  model: string;
  stream: boolean;
  /** Null asks only whether the model is there, which Ollama answers once it is loaded. */
  said: { messages: ChatMessage[] } | { prompt: string } | null;
  /** Tokens that the context must hold at least. */
  context: number;
  /** How much the model shall think. */
  effort: Chat['effort'];
  settings: Omit<TextRequest, 'model' | 'prompt' | 'shape'>;
}

/** Reads the body of `POST /api/chat`. @throws GatewayError 400 that names the field. */
export function readOllamaChat(input: unknown): OllamaCall {
  const body = parseBody(chatBody, input);
  const messages = (body.messages ?? []).map(({ role, content }) => ({ role, content }));
  return { ...common(body), said: messages.length === 0 ? null : { messages } };
}

/** Reads the body of `POST /api/generate`. @throws GatewayError 400 that names the field. */
export function readOllamaGenerate(input: unknown): OllamaCall {
  const body = parseBody(generateBody, input);
  const { prompt, system, raw } = body;
  if (prompt == null || prompt === '') return { ...common(body), said: null };
  if (raw) return { ...common(body), said: { prompt } };
  const first: ChatMessage[] = system ? [{ role: 'system', content: system }] : [];
  return { ...common(body), said: { messages: [...first, { role: 'user', content: prompt }] } };
}

/** What the model is to see of it. @throws GatewayError 400. */
export async function ollamaTextRequest(
  { settings, effort }: Pick<OllamaCall, 'settings' | 'effort'>,
  said: NonNullable<OllamaCall['said']>,
  { model, templates }: { model: ServedModel; templates: TemplateRenderer },
): Promise<TextRequest> {
  if ('prompt' in said) return { ...settings, model, prompt: said.prompt, shape: plainShape };
  const chat = { ...plainChat(said.messages), effort, constrained: settings.sampling.grammar !== null };
  const { prompt, shape, stop } = await renderChat(model, chat, templates);
  return { ...settings, model, prompt, shape, stop: [...settings.stop, ...stop] };
}

function common(body: z.infer<z.ZodObject<typeof commonFields>>): Omit<OllamaCall, 'said'> {
  const { num_ctx: context, num_predict: length, seed, stop, ...picking } = body.options ?? {};
  const { format } = body;
  const sampling = readSampling({
    ...picking,
    ...(format === 'json' ? { response_format: { type: 'json_object' } } : {}),
    ...(typeof format === 'object' && format !== null ? { json_schema: format } : {}),
  });
  const maxTokens = length == null || length < 1 ? null : length;
  const { settings } = readAnswerCall({ model: body.model, seed, stop }, { maxTokens, sampling });
  const { think } = body;
  const effort = think == null ? null : think === true ? 'any' : think === false ? 'none' : think;
  return { model: body.model, stream: body.stream ?? true, context: context ?? 0, effort, settings };
}
