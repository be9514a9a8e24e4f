import { askMember } from '../../../electron/cli/callMember.ts';

/** Sends the member of a data folder an order to serve, as JSON: `HOME ORDER`. Prints what happens, one event a line. */
const [home = '', order = ''] = process.argv.slice(2);
const response = await askMember(home, '/api/serve', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: order,
});
process.stdout.write(await response.text());
