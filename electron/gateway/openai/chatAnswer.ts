import type { ChoiceEvent } from '../generateChoices.ts';
import type { TextEndReason, TextEvent, TextLogprob, TextToken, TextUsage } from '../textRequest.ts';
import { answerUsage, type OpenAiUsage } from './answerUsage.ts';
import { type WholeChoice, wholeChoices } from './wholeChoices.ts';

/** What all parts of one answer have in common. */
export interface AnswerHead {
  id: string;
  /** Unix seconds. */
  created: number;
  model: string;
  system_fingerprint: string;
  service_tier?: 'default' | 'flex';
}

interface ChatDelta {
  role?: 'assistant';
  content?: string;
  reasoning_content?: string;
  /** The id and the name of a call come first, then its arguments in pieces. */
  tool_calls?: {
    index: number;
    id?: string;
    type?: 'function';
    function: { name?: string; arguments: string };
  }[];
}

interface ChatMessageBody {
  role: 'assistant';
  /** Null where it only calls. */
  content: string | null;
  refusal: null;
  /** What the model thought before, as DeepSeek, vLLM and llama-server give it. */
  reasoning_content?: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
}

export interface ChatLogprob {
  token: string;
  logprob: number;
  /** The token's UTF-8, which alone need not be whole characters; null for a control token. */
  bytes: number[] | null;
}

interface ChatLogprobs {
  content: (ChatLogprob & { top_logprobs: ChatLogprob[] })[];
  refusal: null;
}

export type FinishReason = TextEndReason;

/** What OpenAI gives for a token that cannot be; JSON has no infinity. */
export const NEVER = -9999;

/** OpenAI's `chat.completion.chunk`. */
export interface ChatChunk extends AnswerHead {
  object: 'chat.completion.chunk';
  choices: {
    index: number;
    delta: ChatDelta;
    logprobs: ChatLogprobs | null;
    finish_reason: FinishReason | null;
  }[];
  usage?: OpenAiUsage | null;
}

/** OpenAI's `chat.completion`. */
export interface ChatCompletion extends AnswerHead {
  object: 'chat.completion';
  choices: {
    index: number;
    message: ChatMessageBody;
    logprobs: ChatLogprobs | null;
    finish_reason: FinishReason;
  }[];
  usage: OpenAiUsage;
}

/** What of an answer was asked for. */
export interface AnswerOptions {
  choices: number;
  includeUsage: boolean;
  logprobs: boolean;
}

/**
 * Chunks of a stream: the roles, the thinking, text and calls, each choice's finish reason, and usage with empty choices where it was asked for.
 */
export async function* chatChunks(
  head: AnswerHead,
  events: AsyncIterable<ChoiceEvent>,
  { choices, includeUsage, logprobs }: AnswerOptions,
): AsyncGenerator<ChatChunk> {
  const chunk = (index: number, delta: ChatDelta, finish: FinishReason | null, tokens?: TextToken[]): ChatChunk => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index, delta, logprobs: logprobs && tokens ? chatLogprobs(tokens) : null, finish_reason: finish }],
    ...(includeUsage ? { usage: null } : {}),
  });
  const usages: TextUsage[] = [];
  for (let index = 0; index < choices; index += 1) yield chunk(index, { role: 'assistant', content: '' }, null);
  for await (const { choice, event } of events) {
    switch (event.kind) {
      case 'text':
        yield chunk(choice, { content: event.text }, null, event.tokens);
        break;
      case 'end':
        usages[choice] = event.usage;
        yield chunk(choice, {}, event.reason);
        break;
      default:
        yield chunk(choice, chatDelta(event), null);
    }
  }
  if (includeUsage) yield { ...head, object: 'chat.completion.chunk', choices: [], usage: answerUsage(usages) };
}

/** The whole answer at once. */
export async function chatCompletion(
  head: AnswerHead,
  events: AsyncIterable<ChoiceEvent>,
  { choices: count, logprobs }: Omit<AnswerOptions, 'includeUsage'>,
): Promise<ChatCompletion> {
  const choices = await wholeChoices(events, count);
  return {
    ...head,
    object: 'chat.completion',
    choices: choices.map((choice, index) => ({
      index,
      message: chatMessage(choice),
      logprobs: logprobs ? chatLogprobs(choice.tokens) : null,
      finish_reason: choice.reason,
    })),
    usage: answerUsage(choices.map(({ usage }) => usage)),
  };
}

function chatDelta(event: Extract<TextEvent, { kind: 'reasoning' | 'call' | 'arguments' }>): ChatDelta {
  switch (event.kind) {
    case 'reasoning':
      return { reasoning_content: event.text };
    case 'call': {
      const { index, id, name } = event;
      return { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] };
    }
    case 'arguments':
      return { tool_calls: [{ index: event.index, function: { arguments: event.text } }] };
  }
}

function chatMessage({ text, reasoning, calls }: WholeChoice): ChatMessageBody {
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0
      ? {}
      : { tool_calls: calls.map(({ id, ...call }) => ({ id, type: 'function' as const, function: call })) }),
  };
}

function chatLogprobs(tokens: readonly TextToken[]): ChatLogprobs {
  const content = tokens.map((token) => ({ ...chatLogprob(token), top_logprobs: token.top.map(chatLogprob) }));
  return { content, refusal: null };
}

/** A token in the words of OpenAI. */
export function chatLogprob({ bytes, logprob }: TextLogprob): ChatLogprob {
  const token = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  return { token, logprob: Math.max(NEVER, logprob), bytes: bytes.length === 0 ? null : [...bytes] };
}
