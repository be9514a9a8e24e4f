import type { TextEvent, TextLogprob, TextToken, TextUsage } from '../textRequest.ts';

/** What all parts of one answer have in common. */
export interface AnswerHead {
  id: string;
  /** Unix seconds. */
  created: number;
  model: string;
  system_fingerprint: string;
}

interface ChatDelta {
  role?: 'assistant';
  content?: string;
}

interface ChatLogprob {
  token: string;
  logprob: number;
  /** The token's UTF-8, which alone need not be whole characters; null for a control token. */
  bytes: number[] | null;
}

interface ChatLogprobs {
  content: (ChatLogprob & { top_logprobs: ChatLogprob[] })[];
  refusal: null;
}

/** What OpenAI gives for a token that cannot be; JSON has no infinity. */
const NEVER = -9999;

/** OpenAI's `chat.completion.chunk`. */
export interface ChatChunk extends AnswerHead {
  object: 'chat.completion.chunk';
  choices: {
    index: number;
    delta: ChatDelta;
    logprobs: ChatLogprobs | null;
    finish_reason: 'stop' | 'length' | null;
  }[];
  usage?: OpenAiUsage | null;
}

/** OpenAI's `chat.completion`. */
export interface ChatCompletion extends AnswerHead {
  object: 'chat.completion';
  choices: {
    index: number;
    message: { role: 'assistant'; content: string; refusal: null };
    logprobs: ChatLogprobs | null;
    finish_reason: 'stop' | 'length';
  }[];
  usage: OpenAiUsage;
}

interface OpenAiUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/**
 * Chunks of a stream: the role, the text, the finish reason, and usage with empty choices where it was asked for.
 */
export async function* chatChunks(
  head: AnswerHead,
  events: AsyncIterable<TextEvent>,
  { includeUsage, logprobs }: { includeUsage: boolean; logprobs: boolean },
): AsyncGenerator<ChatChunk> {
  const chunk = (delta: ChatDelta, finish: 'stop' | 'length' | null, tokens?: TextToken[]): ChatChunk => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: logprobs && tokens ? chatLogprobs(tokens) : null, finish_reason: finish }],
    ...(includeUsage ? { usage: null } : {}),
  });
  yield chunk({ role: 'assistant', content: '' }, null);
  for await (const event of events) {
    if (event.kind === 'text') {
      yield chunk({ content: event.text }, null, event.tokens);
      continue;
    }
    yield chunk({}, event.reason);
    if (includeUsage) yield { ...head, object: 'chat.completion.chunk', choices: [], usage: openAiUsage(event.usage) };
  }
}

/** The whole answer at once. */
export async function chatCompletion(
  head: AnswerHead,
  events: AsyncIterable<TextEvent>,
  { logprobs }: { logprobs: boolean },
): Promise<ChatCompletion> {
  const texts: string[] = [];
  const tokens: TextToken[] = [];
  for await (const event of events) {
    if (event.kind === 'text') {
      texts.push(event.text);
      tokens.push(...event.tokens);
      continue;
    }
    return {
      ...head,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: texts.join(''), refusal: null },
          logprobs: logprobs ? chatLogprobs(tokens) : null,
          finish_reason: event.reason,
        },
      ],
      usage: openAiUsage(event.usage),
    };
  }
  throw new Error('The generation ended without an end event.');
}

function chatLogprobs(tokens: readonly TextToken[]): ChatLogprobs {
  const content = tokens.map((token) => ({ ...chatLogprob(token), top_logprobs: token.top.map(chatLogprob) }));
  return { content, refusal: null };
}

function chatLogprob({ bytes, logprob }: TextLogprob): ChatLogprob {
  const token = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  return { token, logprob: Math.max(NEVER, logprob), bytes: bytes.length === 0 ? null : [...bytes] };
}

function openAiUsage({ promptTokens, completionTokens }: TextUsage): OpenAiUsage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}
