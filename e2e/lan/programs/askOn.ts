import { setTimeout as sleep } from 'node:timers/promises';
import { askMember } from '../../../electron/cli/callMember.ts';

/** Asks a model of the member of a data folder again and again: `HOME MODEL`. Prints `answered` or what went wrong, each time. */
/** After a request that failed, ms. */
const PAUSE_MS = 200;
const [home = '', model = ''] = process.argv.slice(2);
for (;;) {
  const asked = askMember(home, '/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'What is a stage?' }], max_tokens: 3 }),
  });
  const line = await asked.then(
    async (response) => {
      await response.text();
      return 'answered';
    },
    (cause: unknown) => `failed: ${cause instanceof Error ? cause.message : String(cause)}`,
  );
  process.stdout.write(`${line}\n`);
  if (line !== 'answered') await sleep(PAUSE_MS);
}
