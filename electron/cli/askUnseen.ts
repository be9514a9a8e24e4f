import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

/**
 * Asks on the terminal for a line that does not show as it is typed; on stderr, so that stdout holds the command's own output
 * alone. Rejects with one plain line after Ctrl-C.
 */
export function askUnseen(question: string): Promise<string> {
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: unseen, terminal: true });
  process.stderr.write(question);
  return new Promise<string>((resolve, reject) => {
    terminal.once('line', resolve);
    terminal.once('close', () => reject(new Error('Nothing was given.')));
  }).finally(() => {
    terminal.close();
    process.stderr.write('\n');
  });
}
