import type { TextEvent } from '../textRequest.ts';

const NS_PER_MS = 1_000_000;

/** What of an answer a line holds. */
export interface OllamaText {
  text: string;
  /** What the model thought. */
  thinking: string;
  /** Whole calls: Ollama does not stream their arguments. */
  calls: { name: string; arguments: unknown }[];
}

export const nothingSaid: OllamaText = { text: '', thinking: '', calls: [] };

/** One line of an answer in the shape of Ollama, and what is in it. */
export interface OllamaWord extends OllamaText {
  line: object;
}

/** An answer as Ollama streams it; the last line counts tokens and takes times in ns, from `begun` (performance.now()). */
export async function* ollamaWords(
  events: AsyncIterable<TextEvent>,
  { head, word, begun }: { head: () => object; word: (said: OllamaText) => object; begun: number },
): AsyncGenerator<OllamaWord> {
  let first: number | null = null;
  const calls: { name: string; text: string }[] = [];
  const line = (part: Partial<OllamaText>, rest: object = { done: false }): OllamaWord => {
    const said = { ...nothingSaid, ...part };
    return { ...said, line: { ...head(), ...word(said), ...rest } };
  };
  for await (const event of events) {
    first ??= performance.now();
    switch (event.kind) {
      case 'text':
        if (event.text !== '') yield line({ text: event.text });
        break;
      case 'reasoning':
        yield line({ thinking: event.text });
        break;
      case 'call':
        calls[event.index] = { name: event.name, text: '' };
        break;
      case 'arguments': {
        const call = calls[event.index];
        if (call !== undefined) call.text += event.text;
        break;
      }
      case 'end': {
        const now = performance.now();
        const { promptTokens, completionTokens } = event.usage;
        const whole = calls.flatMap(({ name, text }) => wholeCall(name, text));
        if (whole.length > 0) yield line({ calls: whole });
        yield line(
          {},
          {
            ...{ done: true, done_reason: event.reason === 'tool_calls' ? 'stop' : event.reason },
            total_duration: nanoseconds(now - begun),
            load_duration: 0,
            prompt_eval_count: promptTokens,
            prompt_eval_duration: nanoseconds(first - begun),
            eval_count: completionTokens,
            eval_duration: nanoseconds(now - first),
          },
        );
      }
    }
  }
}

/** None where the answer was cut before the call was complete. */
function wholeCall(name: string, text: string): { name: string; arguments: unknown }[] {
  try {
    return [{ name, arguments: JSON.parse(text) }];
  } catch {
    return [];
  }
}

function nanoseconds(ms: number): number {
  return Math.round(ms * NS_PER_MS);
}
