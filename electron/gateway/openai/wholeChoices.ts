import type { ChoiceEvent } from '../generateChoices.ts';
import type { TextEndReason, TextEvent, TextToken, TextUsage } from '../textRequest.ts';

/** An answer that has ended. */
export interface WholeChoice {
  reasoning: string;
  text: string;
  tokens: TextToken[];
  calls: { id: string; name: string; arguments: string }[];
  reason: TextEndReason;
  usage: TextUsage;
}

/** All answers to a request, in the order of their index, once the last has ended. */
export async function wholeChoices(events: AsyncIterable<ChoiceEvent>, count: number): Promise<WholeChoice[]> {
  const parts = Array.from({ length: count }, () => new ChoiceParts());
  const choices = new Map<number, WholeChoice>();
  for await (const { choice, event } of events) {
    const part = parts[choice];
    if (part === undefined) continue;
    if (event.kind === 'end') choices.set(choice, part.whole(event));
    else part.add(event);
  }
  if (choices.size < count) throw new Error('A generation ended without an end event.');
  return [...choices].sort(([a], [b]) => a - b).map(([, choice]) => choice);
}

class ChoiceParts {
  readonly #reasoning: string[] = [];
  readonly #texts: string[] = [];
  readonly #tokens: TextToken[] = [];
  readonly #calls: { id: string; name: string; pieces: string[] }[] = [];

  add(event: Exclude<TextEvent, { kind: 'end' }>): void {
    switch (event.kind) {
      case 'reasoning':
        this.#reasoning.push(event.text);
        break;
      case 'text':
        this.#texts.push(event.text);
        this.#tokens.push(...event.tokens);
        break;
      case 'call':
        this.#calls[event.index] = { id: event.id, name: event.name, pieces: [] };
        break;
      case 'arguments':
        this.#calls[event.index]?.pieces.push(event.text);
        break;
    }
  }

  whole({ reason, usage }: Extract<TextEvent, { kind: 'end' }>): WholeChoice {
    return {
      reasoning: this.#reasoning.join(''),
      text: this.#texts.join(''),
      tokens: this.#tokens,
      calls: this.#calls.map(({ pieces, ...call }) => ({ ...call, arguments: pieces.join('') })),
      reason,
      usage,
    };
  }
}
