import { join } from 'node:path';
import { notedGateway } from '../gateway/gatewayNote.ts';
import type { MemberMethod, MethodParams, MethodResult } from '../gateway/memberApi.ts';
import { readPrivateFile } from '../pool/privateFile.ts';
import { readLines } from './readLines.ts';

/**
 * Asks the member that runs with a data folder; the answer is believed, since it comes from this user's own member. Rejects
 * with one plain line.
 */
export async function callMember<M extends MemberMethod>(
  home: string,
  method: M,
  params: MethodParams<M>,
): Promise<MethodResult<M>> {
  const response = await askMember(home, `/api/member/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(params),
  });
  return response.json() as Promise<MethodResult<M>>;
}

/** A request to the gateway of the member that runs with a data folder. Rejects with one plain line where it refuses. */
export async function askMember(home: string, path: string, init: RequestInit = {}): Promise<Response> {
  const origin = await notedGateway(home);
  const token = (await readPrivateFile(join(home, 'local-token')))?.trim();
  if (origin === null || token === undefined) throw notRunning(home);
  const headers = { ...init.headers, authorization: `Bearer ${token}` };
  const response = await fetch(`${origin}${path}`, { ...init, headers }).catch((cause: unknown) => {
    throw notRunning(home, cause);
  });
  if (response.ok) return response;
  throw new Error(messageIn(await response.text()) ?? `The member answered with ${response.status}.`);
}

/** What the member tells line by line until it ends, however it does. */
export async function* followMember(home: string, path: string): AsyncGenerator<string, void, void> {
  const response = await askMember(home, path);
  if (response.body === null) throw new Error('The member has nothing to say.');
  const lines = readLines(response.body);
  try {
    for (;;) {
      // One that is killed breaks the connection.
      const next = await lines.next().catch(() => null);
      if (next === null || next.done) return;
      if (next.value !== '') yield next.value;
    }
  } finally {
    await lines.return().catch(() => {});
  }
}

function notRunning(home: string, cause?: unknown): Error {
  return new Error(`No member runs with the data folder ${home}. Start it with \`roomful up\`.`, { cause });
}

function messageIn(text: string): string | null {
  try {
    const body: unknown = JSON.parse(text);
    const error = typeof body === 'object' && body !== null && 'error' in body ? body.error : null;
    const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : null;
    return typeof message === 'string' ? message : null;
  } catch {
    return null;
  }
}
