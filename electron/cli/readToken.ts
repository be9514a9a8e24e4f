import { text } from 'node:stream/consumers';
import { askUnseen } from './askUnseen.ts';

/** An invite token from standard input: on a terminal it is asked for, unseen. Rejects with one plain line where there is none. */
export async function readToken(): Promise<string> {
  const token = process.stdin.isTTY ? await askUnseen('Invite token: ') : await text(process.stdin);
  if (token.trim() === '') throw new Error('Give the token that `roomful invite` printed.');
  return token.trim();
}
