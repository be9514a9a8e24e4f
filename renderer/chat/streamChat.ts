import type { ChatSettings } from '../../electron/gateway/memberApi.ts';
import { eventData } from './eventStream.ts';

export interface PromptMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export interface ChatRequest {
  model: string;
  messages: readonly PromptMessage[];
  settings: ChatSettings;
}

export type ChatEvent = { kind: 'text'; text: string } | { kind: 'usage'; completionTokens: number };

/** The parts of OpenAI's streamed chunks and of its errors that the chat reads. */
interface ChatChunk {
  choices?: { delta?: { content?: string | null } }[];
  usage?: { completion_tokens?: number } | null;
  error?: { message?: string };
}

/**
 * Streams an answer from this member's own `/v1/chat/completions`. Throws an `Error` with the gateway's plain line, and
 * an AbortError when `signal` aborts, which frees the model at once.
 */
export async function* streamChat(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatEvent> {
  const response = await fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf(request)),
    signal,
  });
  if (!response.ok || response.body === null) throw new Error(await errorLine(response));
  for await (const data of eventData(response.body)) {
    if (data === '[DONE]') return;
    const chunk: ChatChunk = JSON.parse(data);
    if (chunk.error !== undefined) throw new Error(chunk.error.message ?? 'The answer broke off.');
    const text = chunk.choices?.[0]?.delta?.content ?? '';
    if (text !== '') yield { kind: 'text', text };
    const completionTokens = chunk.usage?.completion_tokens;
    if (completionTokens !== undefined) yield { kind: 'usage', completionTokens };
  }
  throw new Error('The answer broke off: the connection to the member was lost. Try again.');
}

function bodyOf({ model, messages, settings }: ChatRequest): object {
  const { system, temperature, topP, maxTokens, seed } = settings;
  return {
    model,
    messages: system === '' ? messages : [{ role: 'system', content: system }, ...messages],
    stream: true,
    stream_options: { include_usage: true },
    ...(temperature !== null && { temperature }),
    ...(topP !== null && { top_p: topP }),
    ...(maxTokens !== null && { max_tokens: maxTokens }),
    ...(seed !== null && { seed }),
  };
}

async function errorLine(response: Response): Promise<string> {
  try {
    const { error }: ChatChunk = await response.json();
    if (error?.message) return error.message;
  } catch {
    // The status is all there is.
  }
  return `The member answered with status ${response.status}; try again.`;
}
