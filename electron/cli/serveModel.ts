import { readFile } from 'node:fs/promises';
import { type ServeEvent, type ServeRequest, serveEventSchema } from '../pipeline/serving/serveEvents.ts';
import { readLines } from './readLines.ts';

/**
 * Asks a member's gateway to serve a model and yields what happens. Leaving the loop before `ready`, or the signal, takes
 * everything back. Rejects when the member refuses or is lost.
 */
export async function* serveModel(
  gateway: { origin: string; tokenFile: string },
  request: ServeRequest,
  signal: AbortSignal,
): AsyncGenerator<ServeEvent, void, void> {
  const token = (await readFile(gateway.tokenFile, 'utf8')).trim();
  const response = await fetch(`${gateway.origin}/api/serve`, {
    ...serveBody(request),
    headers: { ...JSON_HEADERS, authorization: `Bearer ${token}` },
    signal,
  });
  if (!response.ok) throw new Error(`The member refused to serve: ${response.status} ${await response.text()}`);
  yield* serveEvents(response);
}

const JSON_HEADERS = { 'content-type': 'application/json' };

/** The request to `/api/serve`, its token aside. */
export function serveBody(request: ServeRequest): RequestInit {
  return { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify(request) };
}

/** What `/api/serve` answers. */
export async function* serveEvents({ body }: Response): AsyncGenerator<ServeEvent, void, void> {
  if (body === null) throw new Error('The member that was to serve the model is gone.');
  for await (const line of readLines(body)) {
    if (line !== '') yield serveEventSchema.parse(JSON.parse(line));
  }
}
