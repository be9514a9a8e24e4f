import { DistinctChoices } from './distinctChoices.ts';
import { generateText } from './generateText.ts';
import type { AdmittedRequest, TextEvent } from './textRequest.ts';

/** What happens to one of the answers to a request; choices count from 0. */
export interface ChoiceEvent {
  choice: number;
  event: TextEvent;
}

/**
 * Several answers to one request at once, events as they come, those of one choice in order. Each choice draws its own random
 * numbers from the seed, and no two say the same; see `DistinctChoices`. When one fails, or the consumer leaves, all end. A choice
 * that is alone tells `onSeated`, as in `GenerateTextOptions`.
 */
export async function* generateChoices(
  admitted: AdmittedRequest,
  count: number,
  signal: AbortSignal,
  onSeated: () => void = () => {},
): AsyncGenerator<ChoiceEvent> {
  if (count === 1) {
    for await (const event of generateText(admitted, signal, { onSeated })) yield { choice: 0, event };
    return;
  }
  const ending = new AbortController();
  const distinct = new DistinctChoices(admitted, count, AbortSignal.any([signal, ending.signal]));
  const pull = async (choice: number, source: AsyncGenerator<TextEvent>) => {
    const { done, value } = await source.next();
    return { choice, source, event: done ? null : value };
  };
  const pending = new Map<number, ReturnType<typeof pull>>();
  for (let choice = 0; choice < count; choice += 1) pending.set(choice, pull(choice, distinct.choice(choice)));
  try {
    while (pending.size > 0) {
      const { choice, source, event } = await Promise.race(pending.values());
      // To the end of the line, so that a quick choice does not keep the others waiting.
      pending.delete(choice);
      if (event === null) continue;
      pending.set(choice, pull(choice, source));
      yield { choice, event };
    }
  } finally {
    ending.abort(new DOMException('The other choices have ended.', 'AbortError'));
    const ended = await Promise.allSettled(pending.values());
    await Promise.allSettled(ended.map((one) => (one.status === 'fulfilled' ? one.value.source.return(null) : null)));
  }
}
