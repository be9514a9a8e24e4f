import { createInterface } from 'node:readline';
import { openIdentity } from '../../../electron/pool/identity.ts';
import { Membership } from '../../../electron/pool/membership.ts';
import { openTlsMaterial } from '../../../electron/pool/poolCertificate.ts';

/**
 * Runs a membership alone, with `HOME HOST SHARE PEERS` as arguments (peers as JSON: id to addresses). Each event is a
 * line of JSON with its time. On standard input: `block MS` keeps this thread busy, `add ID ADDRESS`, `remove ID`, `leave`.
 */
const [home = '', host = '', share = '', peers = '{}'] = process.argv.slice(2);
const say = (event: string, value: unknown): boolean =>
  process.stdout.write(`${JSON.stringify({ event, at: Date.now(), value })}\n`);

const identity = await openIdentity(home);
const membership = await Membership.start({
  home,
  member: identity.id,
  tls: await openTlsMaterial(home, identity),
  host,
  port: 0,
  card: {
    name: host,
    build: 'build-1',
    wireVersion: 1,
    shareBytes: Number(share),
    pinned: false,
    abstains: false,
    multicast: true,
    hosts: [host],
    controlPort: 1,
    rosterVersion: 1,
  },
  peers: new Map(Object.entries(JSON.parse(peers))),
  onTwin: (addresses) => say('twin', addresses),
  onTrouble: (message) => say('trouble', message),
});
membership.onChange((view) => say('view', view));
say('view', membership.view);
say('started', membership.port);

createInterface(process.stdin).on('line', (line) => {
  const [order = '', first = '', second = ''] = line.split(' ');
  if (order === 'block') {
    const until = Date.now() + Number(first);
    while (Date.now() < until);
    say('unblocked', null);
  }
  if (order === 'add') membership.addPeer(first, second === '' ? [] : [second]);
  if (order === 'remove') membership.removePeer(first);
  if (order === 'leave') void membership.leave().then(() => process.exit(0));
});
