import { createInterface } from 'node:readline';
import { Discovery } from '../../../electron/pool/discovery/discovery.ts';

/**
 * Runs discovery alone, with `ID POOL PORT` as arguments; each event is a line of JSON. `facts` and `look` on
 * standard input do what they say. Says goodbye on SIGTERM.
 */
const [id = '', pool = '', port = ''] = process.argv.slice(2);
const say = (event: string, value: unknown): boolean => process.stdout.write(`${JSON.stringify({ event, value })}\n`);

const discovery = await Discovery.start({
  self: { id, pool, build: 'build-1', port: Number(port) },
  wanted: (other) => !other.startsWith('unwanted'),
  onFound: (member) => say('found', member),
  onGone: (gone) => say('gone', gone),
  onTwin: (addresses) => say('twin', addresses),
});
say('started', id);

createInterface(process.stdin).on('line', (line) => {
  if (line === 'facts') say('facts', discovery.facts());
  if (line === 'look') discovery.look();
});
process.once('SIGTERM', () => {
  discovery.stop().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
