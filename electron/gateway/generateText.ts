import { StopStrings } from './stopStrings.ts';
import type { AdmittedRequest, TextEvent } from './textRequest.ts';
import { TokenText } from './tokenText.ts';

/**
 * The text of one request as it comes: whole characters, no part of a stop string, then one `end`. Pulls a token only
 * when the consumer asks. Leaving the loop or aborting `signal` ends the generation on every stage.
 */
export async function* generateText(admitted: AdmittedRequest, signal: AbortSignal): AsyncGenerator<TextEvent> {
  const { request, promptTokens, maxTokens, seed } = admitted;
  const { model } = request;
  const tokenText = new TokenText(model.pieces);
  const stops = new StopStrings(request.stop);
  const sampling = { ...request.sampling, seed, choice: 0 };
  let completionTokens = 0;
  let ended = false;
  for await (const { id } of model.generate({ promptTokens, maxTokens, sampling }, signal)) {
    completionTokens += 1;
    ended = model.endTokens.has(id);
    if (ended) break;
    const text = stops.push(tokenText.push(id));
    if (text !== '') yield { kind: 'text', text };
    if (stops.stopped) break;
  }
  const rest = stops.flush();
  if (rest !== '') yield { kind: 'text', text: rest };
  const reason = ended || stops.stopped ? 'stop' : 'length';
  yield { kind: 'end', reason, usage: { promptTokens: promptTokens.length, completionTokens } };
}
