import type { TextEvent } from '../textRequest.ts';

const NS_PER_MS = 1_000_000;

/** What of an answer a line holds. */
export interface OllamaText {
  text: string;
  /** What the model thought. */
  thinking: string;
}

/** One line of an answer in the shape of Ollama, and the text in it. */
export interface OllamaWord extends OllamaText {
  line: object;
}

/** An answer as Ollama streams it; the last line counts tokens and takes times in ns, from `begun` (performance.now()). */
export async function* ollamaWords(
  events: AsyncIterable<TextEvent>,
  { head, word, begun }: { head: () => object; word: (said: OllamaText) => object; begun: number },
): AsyncGenerator<OllamaWord> {
  let first: number | null = null;
  for await (const event of events) {
    first ??= performance.now();
    if (event.kind === 'text' || event.kind === 'reasoning') {
      const said = event.kind === 'text' ? { text: event.text, thinking: '' } : { text: '', thinking: event.text };
      if (event.text !== '') yield { ...said, line: { ...head(), ...word(said), done: false } };
      continue;
    }
    if (event.kind !== 'end') continue;
    const now = performance.now();
    const { promptTokens, completionTokens } = event.usage;
    const counts = {
      total_duration: nanoseconds(now - begun),
      load_duration: 0,
      prompt_eval_count: promptTokens,
      prompt_eval_duration: nanoseconds(first - begun),
      eval_count: completionTokens,
      eval_duration: nanoseconds(now - first),
    };
    const said = { text: '', thinking: '' };
    yield { ...said, line: { ...head(), ...word(said), done: true, done_reason: event.reason, ...counts } };
  }
}

function nanoseconds(ms: number): number {
  return Math.round(ms * NS_PER_MS);
}
