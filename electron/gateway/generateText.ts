import { StopStrings } from './stopStrings.ts';
import type { AdmittedRequest, TextEvent } from './textRequest.ts';
import { TokenDetails } from './tokenDetails.ts';
import { TokenText } from './tokenText.ts';

/**
 * The text of one request as it comes: whole characters, no part of a stop string, then one `end`. Pulls a token only
 * when the consumer asks. Leaving the loop or aborting `signal` ends the generation on every stage.
 */
export async function* generateText(
  admitted: AdmittedRequest,
  signal: AbortSignal,
  choice = 0,
): AsyncGenerator<TextEvent> {
  const { request, promptTokens, maxTokens, seed } = admitted;
  const { model } = request;
  const tokenText = new TokenText(model.pieces);
  const stops = new StopStrings(request.stop);
  const details = new TokenDetails(model.pieces);
  const sampling = { ...request.sampling, seed, choice };
  let cachedTokens: number | null = null;
  const onSeated = (seated: { cachedTokens: number }): void => {
    cachedTokens = seated.cachedTokens;
  };
  let completionTokens = 0;
  let ended = false;
  let decoded = 0;
  let shown = 0;
  for await (const token of model.generate({ promptTokens, maxTokens, sampling, onSeated }, signal)) {
    completionTokens += 1;
    ended = model.endTokens.has(token.id);
    if (ended) break;
    details.push(token, decoded);
    const piece = tokenText.push(token.id);
    decoded += piece.length;
    const text = stops.push(piece);
    shown += text.length;
    if (text !== '') yield { kind: 'text', text, tokens: details.take(shown) };
    if (stops.stopped) break;
  }
  const text = stops.flush();
  const tokens = stops.stopped ? [] : details.takeAll();
  if (text !== '' || tokens.length > 0) yield { kind: 'text', text, tokens };
  const reason = ended || stops.stopped ? 'stop' : 'length';
  yield { kind: 'end', reason, usage: { promptTokens: promptTokens.length, cachedTokens, completionTokens } };
}
