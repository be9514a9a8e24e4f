import { readFile } from 'node:fs/promises';
import { type ServeEvent, type ServeRequest, serveEventSchema } from '../pipeline/serveEvents.ts';
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
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(request),
    signal,
  });
  if (!response.ok || response.body === null) {
    throw new Error(`The member refused to serve: ${response.status} ${await response.text()}`);
  }
  for await (const line of readLines(response.body)) {
    if (line !== '') yield serveEventSchema.parse(JSON.parse(line));
  }
}
