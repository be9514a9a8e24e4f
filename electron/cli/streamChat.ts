import { z } from 'zod';
import { readLines } from './readLines.ts';

const chunkSchema = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.string().nullish() }).optional() })).optional(),
  usage: z.object({ completion_tokens: z.int() }).nullish(),
  error: z.object({ message: z.string() }).optional(),
});

export interface ChatAnswer {
  text: string;
  tokens: number;
  /** Tokens after the first, over the time after the first; 0 where there is but one. */
  tokensPerSecond: number;
}

/**
 * Sends one question to an OpenAI-compatible endpoint and hands on the answer as it streams. Rejects with the server's
 * own words when it refuses or breaks off.
 */
export async function streamChat(
  endpoint: string,
  request: { model: string; prompt: string; maxTokens: number; temperature: number },
  onText: (text: string) => void,
  signal: AbortSignal,
): Promise<ChatAnswer> {
  const response = await fetch(`${endpoint}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: request.model,
      messages: [{ role: 'user', content: request.prompt }],
      max_tokens: request.maxTokens,
      temperature: request.temperature,
      stream: true,
      stream_options: { include_usage: true },
    }),
    signal,
  });
  if (!response.ok || response.body === null) {
    const refusal = chunkSchema.safeParse(JSON.parse(await response.text()));
    throw new Error(refusal.data?.error?.message ?? `The endpoint answered ${response.status}.`);
  }
  let text = '';
  let tokens = 0;
  let firstAt = 0;
  let lastAt = 0;
  for await (const line of readLines(response.body)) {
    if (!line.startsWith('data: ') || line === 'data: [DONE]') continue;
    const { choices, usage, error } = chunkSchema.parse(JSON.parse(line.slice('data: '.length)));
    if (error) throw new Error(error.message);
    const piece = choices?.[0]?.delta?.content ?? '';
    // The events after the last text tell of tokens too: of the one that ends the answer, and of those without text.
    if (firstAt !== 0) lastAt = performance.now();
    if (piece !== '') {
      if (firstAt === 0) firstAt = performance.now();
      text += piece;
      onText(piece);
    }
    if (usage) tokens = usage.completion_tokens;
  }
  const seconds = (lastAt - firstAt) / 1000;
  return { text, tokens, tokensPerSecond: seconds > 0 && tokens > 1 ? (tokens - 1) / seconds : 0 };
}
