import { Template } from '@huggingface/jinja';
import type { ServedModel } from '../pipeline/servedModel.ts';
import { GatewayError, invalidField } from './gatewayError.ts';

/** One message of a conversation, whatever API it came by. */
export interface ChatMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** Text; empty where the client sent null. */
  content: string;
  name?: string;
  /** Earlier calls of the assistant; `arguments` is the JSON text as the client sent it. */
  toolCalls?: { id: string; name: string; arguments: string }[];
  /** The call that a tool message answers. */
  toolCallId?: string;
}

/** `model`: the template of the GGUF. `chatml`: a generic one, for a model that has none. */
export type TemplateChoice = 'model' | 'chatml';

export interface RenderedChat {
  prompt: string;
  /** Ends the answer although it is no end token of the model. */
  stop: readonly string[];
}

const chatml =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

const offer = 'Send "chat_template": "chatml" to use a generic one.';

/**
 * The prompt of a conversation, rendered with the model's own Jinja template up to where the assistant speaks. Where a
 * template does not know the role developer, it sees system.
 *
 * @throws GatewayError `chat_template_missing` or `chat_template_broken` of the model, both offering ChatML;
 * `chat_template_refused` with the template's own reason for these messages.
 */
export function renderChat(
  model: ServedModel,
  messages: readonly ChatMessage[],
  choice: TemplateChoice = 'model',
): RenderedChat {
  const source = choice === 'chatml' ? chatml : model.chatTemplate;
  if (source === null || source.trim() === '') {
    const message = `The model ${model.id} has no chat template. ${offer}`;
    throw new GatewayError(message, { status: 400, param: 'messages', code: 'chat_template_missing' });
  }
  const template = parsed(model, source);
  const knowsDeveloper = source.includes('developer');
  try {
    const prompt = template.render({
      messages: messages.map((message) => templateMessage(message, knowsDeveloper)),
      add_generation_prompt: true,
      bos_token: model.bosText,
      eos_token: model.eosText,
      // As Hugging Face passes them: templates ask `tools is not none`.
      tools: null,
      documents: null,
    });
    return { prompt, stop: choice === 'chatml' ? ['<|im_end|>', '<|im_start|>'] : [] };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `The chat template of ${model.id} refuses these messages: ${reason}`;
    throw new GatewayError(message, { status: 400, param: 'messages', code: 'chat_template_refused', cause });
  }
}

const parsedTemplates = new WeakMap<ServedModel, Map<string, Template>>();

function parsed(model: ServedModel, source: string): Template {
  const ofModel = parsedTemplates.get(model) ?? new Map<string, Template>();
  parsedTemplates.set(model, ofModel);
  const known = ofModel.get(source);
  if (known !== undefined) return known;
  try {
    const template = new Template(source);
    ofModel.set(source, template);
    return template;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw invalidField(
      'messages',
      `The chat template of ${model.id} is broken (${reason}). ${offer}`,
      'chat_template_broken',
    );
  }
}

function templateMessage(message: ChatMessage, knowsDeveloper: boolean): Record<string, unknown> {
  return {
    role: message.role === 'developer' && !knowsDeveloper ? 'system' : message.role,
    content: message.content,
    ...(message.name === undefined ? {} : { name: message.name }),
    ...(message.toolCallId === undefined ? {} : { tool_call_id: message.toolCallId }),
    ...(message.toolCalls === undefined
      ? {}
      : {
          tool_calls: message.toolCalls.map((call) => ({
            id: call.id,
            type: 'function',
            function: { name: call.name, arguments: objectOrText(call.arguments) },
          })),
        }),
  };
}

/** Templates write arguments with `tojson`, so they want the object; text that is no JSON object stays text. */
function objectOrText(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : text;
  } catch {
    return text;
  }
}
