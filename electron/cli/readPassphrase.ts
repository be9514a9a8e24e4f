import { askUnseen } from './askUnseen.ts';
import { readLines } from './readLines.ts';

/**
 * A passphrase from standard input: on a terminal it is asked for, unseen, and where it is new once more; otherwise it is the
 * first line. Rejects with one plain line where there is none, the two differ, or Ctrl-C was pressed.
 */
export async function readPassphrase({ isNew }: { isNew: boolean }): Promise<string> {
  if (!process.stdin.isTTY) {
    for await (const line of readLines(process.stdin)) return line;
    throw new Error('Give the passphrase as the first line of standard input.');
  }
  const passphrase = await askUnseen('Passphrase: ');
  if (isNew && (await askUnseen('Once more: ')) !== passphrase) throw new Error('The two passphrases differ.');
  return passphrase;
}
