import type { ChoiceEvent } from '../generateChoices.ts';
import type { TextLogprob, TextToken, TextUsage } from '../textRequest.ts';
import { answerUsage, type OpenAiUsage } from './answerUsage.ts';
import { type AnswerHead, type AnswerOptions, type FinishReason, NEVER } from './chatAnswer.ts';
import { wholeChoices } from './wholeChoices.ts';

/** The log probabilities of legacy completions, a place a token. */
interface CompletionLogprobs {
  tokens: string[];
  token_logprobs: number[];
  /** The most probable tokens of a place and the one that was taken, by their text. */
  top_logprobs: Record<string, number>[];
  /** Where each token begins in the text, in UTF-16 units. */
  text_offset: number[];
}

/** OpenAI's `text_completion`, whole or a part of a stream. */
export interface TextCompletion extends AnswerHead {
  object: 'text_completion';
  choices: { index: number; text: string; logprobs: CompletionLogprobs | null; finish_reason: FinishReason | null }[];
  usage?: OpenAiUsage | null;
}

/** Chunks of a stream: the text, each choice's finish reason, and usage with empty choices where it was asked for. */
export async function* completionChunks(
  head: AnswerHead,
  events: AsyncIterable<ChoiceEvent>,
  { choices, includeUsage, logprobs, echo }: AnswerOptions & { echo: string },
): AsyncGenerator<TextCompletion> {
  const chunk = (index: number, text: string, finish: FinishReason | null, tokens: TextToken[] = []) => ({
    ...head,
    object: 'text_completion' as const,
    choices: [
      { index, text, logprobs: logprobs ? (details[index]?.take(tokens) ?? null) : null, finish_reason: finish },
    ],
    ...(includeUsage ? { usage: null } : {}),
  });
  const details = Array.from({ length: choices }, () => new LegacyLogprobs());
  const usages: TextUsage[] = [];
  for (let index = 0; index < choices && echo !== ''; index += 1) yield chunk(index, echo, null);
  for await (const { choice, event } of events) {
    if (event.kind === 'text') {
      yield chunk(choice, event.text, null, event.tokens);
      continue;
    }
    if (event.kind !== 'end') continue;
    usages[choice] = event.usage;
    yield chunk(choice, '', event.reason);
  }
  if (includeUsage) yield { ...head, object: 'text_completion', choices: [], usage: answerUsage(usages) };
}

/** The whole answer at once. */
export async function textCompletion(
  head: AnswerHead,
  events: AsyncIterable<ChoiceEvent>,
  { choices: count, logprobs, echo }: AnswerOptions & { echo: string },
): Promise<TextCompletion> {
  const choices = await wholeChoices(events, count);
  return {
    ...head,
    object: 'text_completion',
    choices: choices.map(({ text, tokens, reason }, index) => ({
      index,
      text: echo + text,
      logprobs: logprobs ? new LegacyLogprobs().take(tokens) : null,
      finish_reason: reason,
    })),
    usage: answerUsage(choices.map(({ usage }) => usage)),
  };
}

/** Words the log probabilities of one choice, and keeps count of where its text is. */
class LegacyLogprobs {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #length = 0;

  take(tokens: readonly TextToken[]): CompletionLogprobs {
    const offsets = tokens.map(({ bytes }) => {
      const start = this.#length;
      this.#length += this.#decoder.decode(bytes, { stream: true }).length;
      return start;
    });
    return {
      tokens: tokens.map(tokenName),
      token_logprobs: tokens.map(finite),
      top_logprobs: tokens.map((token) =>
        Object.fromEntries([...token.top, token].map((one) => [tokenName(one), finite(one)])),
      ),
      text_offset: offsets,
    };
  }
}

/** A token's text, or as OpenAI writes one that is no whole character: `bytes:\xe2\x80`. */
function tokenName({ bytes }: TextLogprob): string {
  try {
    return new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(bytes);
  } catch {
    return `bytes:${[...bytes].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`;
  }
}

function finite({ logprob }: TextLogprob): number {
  return Math.max(NEVER, logprob);
}
