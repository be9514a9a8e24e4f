import { createHash } from 'node:crypto';
import type { ServedModel } from '../../pipeline/serving/servedModel.ts';
import { GatewayError, invalidField } from '../gatewayError.ts';
import type { AnswerShape } from '../textRequest.ts';
import { type CallFormat, hermesCalls } from '../tools/callFormat.ts';
import { planCalls } from '../tools/callPlan.ts';
import type { ChatMessage, ChatTool } from './chatMessage.ts';
import {
  isNamed,
  withCallsAsText,
  withInstruction,
  withNameAsText,
  withoutName,
  withSystemFolded,
  withToolInstruction,
  withTurnsMerged,
} from './foldMessages.ts';
import { type GenericName, genericFormat, genericTemplates, knownFormat } from './genericTemplates.ts';
import { PlainText, type PromptPiece } from './plainText.ts';
import { TemplateFailure } from './templateFailure.ts';
import type { TemplateRenderer } from './templateRenderer.ts';
import { type TemplateTraits, templateTraits } from './templateTraits.ts';
import { type ReasoningEffort, templateVariables } from './templateVariables.ts';

/** `model`: the template of the GGUF. `generic`: that of the model's format as far as it can be told. Else a format by name. */
export type TemplateChoice = 'model' | 'generic' | GenericName;

/** A conversation as a client sent it, and what it wants of the answer. */
export interface Chat {
  messages: readonly ChatMessage[];
  /** Those that the model may call; none where it may call nothing. */
  tools: readonly ChatTool[];
  /** It must call. */
  mustCall: boolean;
  parallelCalls: boolean;
  template: TemplateChoice;
  /** Variables of the template by name. */
  kwargs: Readonly<Record<string, unknown>>;
  /** How much it shall think; `any`: that it shall. */
  effort: ReasoningEffort | 'any' | null;
  /** What the request calls these, for refusals. */
  fields: { messages: string; effort: string };
  /** What the client says of the answer that it wants, told as an instruction; null where it says nothing. */
  answerIs: string | null;
  /** A grammar holds for the answer, which leaves no room for thinking aloud. */
  constrained: boolean;
}

export const chatFieldNames: Chat['fields'] = { messages: 'messages', effort: 'reasoning_effort' };

/** A conversation that asks for nothing else. */
export function plainChat(messages: readonly ChatMessage[]): Chat {
  return {
    ...{ messages, template: 'model', tools: [], mustCall: false, parallelCalls: true, kwargs: {}, constrained: false },
    ...{ effort: null, fields: chatFieldNames, answerIs: null },
  };
}

export interface RenderedChat {
  prompt: PromptPiece[];
  shape: AnswerShape;
  /** Ends the answer although it is no end token of the model. */
  stop: readonly string[];
}

const offer = 'Send "chat_template": "generic" to use a generic one.';

/**
 * The prompt of a conversation, rendered with the model's own Jinja template up to where the assistant speaks, and how the answer
 * is to be read. What a template has no place for is put where it has one: the role developer becomes system, instructions go
 * into the user's next message, messages of one role in a row become one, tools, earlier calls and the names of speakers are told
 * in words. Nothing that
 * a client wrote is read as a control token.
 *
 * @throws GatewayError `chat_template_missing` or `chat_template_broken` of the model, both offering a generic one;
 * `chat_template_refused` with the template's own reason for these messages; 400 for a field that the template has no place for.
 */
export async function renderChat(model: ServedModel, chat: Chat, templates: TemplateRenderer): Promise<RenderedChat> {
  refuseEndless(model, chat);
  const { source, stop } = chosenTemplate(model, chat);
  const traits = templateTraits(source);
  const kwargs = templateVariables(chat, traits, model.id);
  const format = traits.calls ?? hermesCalls;
  const plain = new PlainText(model.controlTokens);
  const asked = chat.answerIs === null ? chat.messages : withInstruction(chat.messages, chat.answerIs);
  const told = chat.tools.length > 0 && traits.calls === null ? withToolInstruction(asked, chat.tools) : asked;
  const messages = traits.callHistory ? told : withCallsAsText(told);
  const tools = traits.calls === null || chat.tools.length === 0 ? null : plain.cover(chat.tools.map(templateTool));
  // Firefunction's, in the words of its authors and of llama.cpp.
  const functions = tools === null ? '' : JSON.stringify(tools, null, 2);
  const datetime = new Date().toUTCString();
  const render = async (attempt: readonly ChatMessage[]): Promise<string> => {
    const values = {
      ...(traits.mentions('functions') ? { functions } : {}),
      ...(traits.mentions('datetime') ? { datetime } : {}),
      ...plain.cover(kwargs),
      messages: plain.cover(attempt.map((message) => templateMessage(message, traits, source))),
      add_generation_prompt: true,
      bos_token: model.bosText,
      eos_token: model.eosText,
      // As Hugging Face passes them: templates ask `tools is not none`.
      tools,
      documents: null,
    };
    try {
      return await templates.render(source, values);
    } catch (cause) {
      if (tools !== null || !traits.mentions('tools') || !isRefusal(cause)) throw cause;
      // Those that are made for tools go through them without asking whether there are any.
      return await templates.render(source, { ...values, tools: [] }).catch((other: unknown) => {
        throw isRefusal(other) ? cause : other;
      });
    }
  };
  const prompt = await withNamesTold(messages, (attempt) =>
    firstThatRenders(attempt, render, { model, field: chat.fields.messages, covered: (text) => plain.cover(text) }),
  );
  return { ...opened(plain.pieces(prompt), prompt, { chat, format, traits }), stop };
}

/** Starts what renders the template of a model, where it has one. */
export function prepareTemplate(model: ServedModel, templates: TemplateRenderer): void {
  const source = ownTemplate(model);
  if (source !== null) templates.prepare(source);
}

/** Each message that says something takes a token at least, so that some chats need not be rendered to be too long. */
function refuseEndless({ id, contextLength }: ServedModel, { messages, fields }: Chat): void {
  const said = messages.filter(({ content }) => content !== '').length;
  if (said <= contextLength) return;
  const message = `The chat has ${said} messages, and the context of ${id} holds ${contextLength} tokens; leave older ones out.`;
  throw invalidField(fields.messages, message, 'context_length_exceeded');
}

function isRefusal(cause: unknown): boolean {
  return cause instanceof TemplateFailure && cause.kind === 'refused';
}

/** A role whose names change nothing is one whose names the template leaves out: they are put into the text. */
async function withNamesTold(
  messages: readonly ChatMessage[],
  render: (messages: readonly ChatMessage[]) => Promise<string>,
): Promise<string> {
  const prompt = await render(messages);
  const named = new Set(messages.filter(isNamed).map(({ role }) => role));
  const untold: string[] = [];
  for (const role of named) {
    const without = await render(messages.map((one) => (one.role === role ? withoutName(one) : one)));
    if (without === prompt) untold.push(role);
  }
  if (untold.length === 0) return prompt;
  return render(messages.map((one) => (untold.includes(one.role) ? withNameAsText(one) : one)));
}

/** Tries the messages as they are, then in the forms that stricter templates take. */
async function firstThatRenders(
  messages: readonly ChatMessage[],
  render: (attempt: readonly ChatMessage[]) => Promise<string>,
  { model, field, covered }: { model: ServedModel; field: string; covered: (text: string) => string },
): Promise<string> {
  const attempts = [messages, withTurnsMerged(messages), withTurnsMerged(withSystemFolded(messages))];
  let refusal: TemplateFailure | null = null;
  for (const [index, attempt] of attempts.entries()) {
    try {
      const prompt = await render(attempt);
      const instructions = attempt.filter(({ role }) => role === 'system' || role === 'developer');
      // A template without a place for them may leave them out without a word.
      if (
        index === attempts.length - 1 ||
        instructions.every(({ content }) => prompt.includes(covered(content.trim())))
      )
        return prompt;
    } catch (cause) {
      if (!(cause instanceof TemplateFailure)) throw cause;
      if (cause.kind !== 'refused') throw asGatewayError(cause, model, field);
      refusal ??= cause;
    }
  }
  throw asGatewayError(refusal ?? new TemplateFailure('refused', 'it leaves out the instructions'), model, field);
}

function asGatewayError(cause: TemplateFailure, { id }: ServedModel, param: string): GatewayError {
  if (cause.kind === 'broken') {
    const message = `The chat template of ${id} is broken (${cause.message}). ${offer}`;
    return new GatewayError(message, { status: 400, param, code: 'chat_template_broken', cause });
  }
  if (cause.kind === 'runaway') {
    const message = `The chat template of ${id} was stopped: ${cause.message}. ${offer}`;
    return new GatewayError(message, { status: 400, param, code: 'chat_template_broken', cause });
  }
  const reason = /[.!?]$/.test(cause.message) ? cause.message : `${cause.message}.`;
  const message = `The chat template of ${id} refuses these messages: ${reason} ${offer}`;
  return new GatewayError(message, { status: 400, param, code: 'chat_template_refused', cause });
}

function chosenTemplate(
  model: ServedModel,
  { template: choice, tools, fields }: Pick<Chat, 'template' | 'tools' | 'fields'>,
): { source: string; stop: readonly string[] } {
  if (choice === 'generic') return genericTemplates[genericFormat(model)];
  if (choice !== 'model') return genericTemplates[choice];
  const own = tools.length > 0 ? (model.toolTemplate ?? ownTemplate(model)) : ownTemplate(model);
  if (own !== null) return { source: own, stop: [] };
  const known = knownFormat(model);
  if (known !== null) return genericTemplates[known];
  throw new GatewayError(`The model ${model.id} has no chat template. ${offer}`, {
    ...{ status: 400, param: fields.messages, code: 'chat_template_missing' },
  });
}

function ownTemplate({ chatTemplate }: ServedModel): string | null {
  return chatTemplate === null || chatTemplate.trim() === '' ? null : chatTemplate;
}

/** Settles how the answer begins, and what the template has begun of it. */
function opened(
  pieces: PromptPiece[],
  prompt: string,
  { chat, format, traits: { thinking } }: { chat: Chat; format: CallFormat; traits: TemplateTraits },
): Pick<RenderedChat, 'prompt' | 'shape'> {
  const begun = thinking !== null && prompt.trimEnd().endsWith(thinking.open);
  const { tools, parallelCalls: parallel, mustCall } = chat;
  const calls = tools.length === 0 ? null : planCalls(tools, format, { parallel, begun: mustCall });
  if (!mustCall && !chat.constrained) {
    return { prompt: pieces, shape: { thinking: thinking === null ? null : { ...thinking, begun }, calls } };
  }
  const thought = begun && thinking !== null ? `\n${thinking.close}\n\n` : '';
  const call = mustCall && calls !== null ? `${format.begins[0]}${calls.opening}` : '';
  return { prompt: withText(pieces, thought + call), shape: { thinking: null, calls } };
}

function withText(pieces: readonly PromptPiece[], text: string): PromptPiece[] {
  const last = pieces.at(-1);
  if (last === undefined || last.plain) return [...pieces, { text, plain: false }];
  return [...pieces.slice(0, -1), { text: last.text + text, plain: false }];
}

function templateTool({ name, description, parameters }: ChatTool): object {
  return { type: 'function', function: { name, description: description ?? '', parameters } };
}

function templateMessage(message: ChatMessage, traits: TemplateTraits, source: string): Record<string, unknown> {
  // Mistral's templates refuse ids of any other length.
  const idOf = (id: string): string => (source.includes('length != 9') ? shortId(id) : id);
  return {
    role: message.role === 'developer' && !traits.developer ? 'system' : message.role,
    content: message.content,
    ...(message.name === undefined ? {} : { name: message.name }),
    ...(message.reasoning === undefined ? {} : { reasoning_content: message.reasoning }),
    ...(message.toolCallId === undefined ? {} : { tool_call_id: idOf(message.toolCallId) }),
    ...(message.toolCalls === undefined
      ? {}
      : {
          tool_calls: message.toolCalls.map((call) => ({
            id: idOf(call.id),
            type: 'function',
            function: {
              name: call.name,
              arguments: traits.textArguments ? call.arguments : objectOrText(call.arguments),
            },
          })),
        }),
  };
}

function shortId(id: string): string {
  if (/^[a-zA-Z0-9]{9}$/.test(id)) return id;
  return createHash('sha256').update(id).digest('hex').slice(0, 9);
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
