import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { systemClock } from '../../../electron/pool/clock.ts';
import { dialMember } from '../../../electron/pool/dialMember.ts';
import {
  type Candidate,
  mediumTo,
  rankCandidates,
  reachabilityOf,
} from '../../../electron/pool/discovery/candidate.ts';
import { cardReader } from '../../../electron/pool/discovery/cardTraits.ts';
import { PeerRoute } from '../../../electron/pool/peerRoute.ts';
import { parseAddress } from '../../../electron/pool/socketAddress.ts';
import { tlsMaterialSchema } from '../../../electron/wire/tlsMaterial.ts';

/**
 * Keeps a route to a member; the arguments are a file with TLS material and the member's id. On standard input
 * `to ADDRESS ...` says where the member may be, `died ADDRESS` that a connection broke, `ask` asks for the address.
 */
const [file = '', member = ''] = process.argv.slice(2);
const tls = tlsMaterialSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
const say = (line: string): boolean => process.stdout.write(`${line}\n`);
const cards = cardReader();

const route = new PeerRoute({
  clock: systemClock,
  dial: (address, signal) => dialMember({ address, member, tls, signal, timeoutMs: 1000 }),
  onPinned: async ({ address, medium, localHost, remoteHost }) => {
    const { usable } = await cards();
    say(`pinned ${address} ${medium} ${localHost} ${reachabilityOf(remoteHost, usable)}`);
  },
});

async function obey(line: string): Promise<void> {
  const [command, ...addresses] = line.split(' ');
  if (command === 'died') route.died(addresses[0] ?? '');
  if (command === 'ask') {
    say(
      await route.address().then(
        (address) => `answer ${address}`,
        (why: unknown) => `no answer ${why}`,
      ),
    );
  }
  if (command === 'to') {
    const { usable } = await cards();
    const candidates = addresses.map((address): Candidate => {
      const medium = mediumTo(parseAddress(address)?.host ?? '', 'unknown', usable);
      return { address, medium };
    });
    route.update(rankCandidates(candidates, usable));
  }
}

say('ready');
for await (const line of createInterface(process.stdin)) await obey(line);
