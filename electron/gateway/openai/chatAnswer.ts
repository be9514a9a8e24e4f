import type { TextEvent, TextUsage } from '../textRequest.ts';

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

/** OpenAI's `chat.completion.chunk`. */
export interface ChatChunk extends AnswerHead {
  object: 'chat.completion.chunk';
  choices: { index: number; delta: ChatDelta; logprobs: null; finish_reason: 'stop' | 'length' | null }[];
  usage?: OpenAiUsage | null;
}

/** OpenAI's `chat.completion`. */
export interface ChatCompletion extends AnswerHead {
  object: 'chat.completion';
  choices: {
    index: number;
    message: { role: 'assistant'; content: string; refusal: null };
    logprobs: null;
    finish_reason: 'stop' | 'length';
  }[];
  usage: OpenAiUsage;
}

interface OpenAiUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** Chunks of a stream: the role, the text, the finish reason, and usage with empty choices where it was asked for. */
export async function* chatChunks(
  head: AnswerHead,
  events: AsyncIterable<TextEvent>,
  includeUsage: boolean,
): AsyncGenerator<ChatChunk> {
  const chunk = (delta: ChatDelta, finish: 'stop' | 'length' | null): ChatChunk => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(includeUsage ? { usage: null } : {}),
  });
  yield chunk({ role: 'assistant', content: '' }, null);
  for await (const event of events) {
    if (event.kind === 'text') {
      yield chunk({ content: event.text }, null);
      continue;
    }
    yield chunk({}, event.reason);
    if (includeUsage) yield { ...head, object: 'chat.completion.chunk', choices: [], usage: openAiUsage(event.usage) };
  }
}

/** The whole answer at once. */
export async function chatCompletion(head: AnswerHead, events: AsyncIterable<TextEvent>): Promise<ChatCompletion> {
  const texts: string[] = [];
  for await (const event of events) {
    if (event.kind === 'text') {
      texts.push(event.text);
      continue;
    }
    return {
      ...head,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: texts.join(''), refusal: null },
          logprobs: null,
          finish_reason: event.reason,
        },
      ],
      usage: openAiUsage(event.usage),
    };
  }
  throw new Error('The generation ended without an end event.');
}

function openAiUsage({ promptTokens, completionTokens }: TextUsage): OpenAiUsage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}
