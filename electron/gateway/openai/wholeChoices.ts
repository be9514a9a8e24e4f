import type { ChoiceEvent } from '../generateChoices.ts';
import type { TextToken, TextUsage } from '../textRequest.ts';

/** An answer that has ended. */
export interface WholeChoice {
  text: string;
  tokens: TextToken[];
  reason: 'stop' | 'length';
  usage: TextUsage;
}

/** All answers to a request, in the order of their index, once the last has ended. */
export async function wholeChoices(events: AsyncIterable<ChoiceEvent>, count: number): Promise<WholeChoice[]> {
  const parts = Array.from({ length: count }, () => ({ texts: [] as string[], tokens: [] as TextToken[] }));
  const choices = new Map<number, WholeChoice>();
  for await (const { choice, event } of events) {
    const part = parts[choice];
    if (part === undefined) continue;
    if (event.kind === 'text') {
      part.texts.push(event.text);
      part.tokens.push(...event.tokens);
      continue;
    }
    const { reason, usage } = event;
    choices.set(choice, { text: part.texts.join(''), tokens: part.tokens, reason, usage });
  }
  if (choices.size < count) throw new Error('A generation ended without an end event.');
  return [...choices].sort(([a], [b]) => a - b).map(([, choice]) => choice);
}
