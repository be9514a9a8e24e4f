import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { HeartbeatCodec } from '../../../electron/pool/heartbeatCodec.ts';
import { exportPrivateKey, openIdentity } from '../../../electron/pool/identity.ts';
import { dialHeartbeat } from '../../../electron/wire/dialHeartbeat.ts';
import { MemberClient } from '../../../electron/wire/memberClient.ts';
import { CallRefused } from '../../../electron/wire/wireError.ts';
import { WIRE_VERSION } from '../../../electron/wire/wireVersion.ts';
import { stageOrder } from '../../testing/stageOrder.ts';

/**
 * Calls a member with the key and certificate of a data folder, in every way that needs no one's help. The argument is JSON:
 * that `home`, `ca` a file with the CA of the member that is called, its id `member`, its addresses `control` and
 * `heartbeat`, and the `epoch` of an order; heartbeats name one that no pool has come to. Says as JSON what became of each call: `ok` or why not.
 */
const BEYOND = 2 ** 50;
const optionsSchema = z.object({
  home: z.string(),
  ca: z.string(),
  member: z.string(),
  control: z.string(),
  heartbeat: z.string(),
  epoch: z.object({ counter: z.number(), coordinator: z.string() }),
});
const { home, ca, member, control, heartbeat, epoch } = optionsSchema.parse(JSON.parse(process.argv[2] ?? ''));
const { privateKey } = await openIdentity(home);
const tls = {
  ca: readFileSync(ca, 'utf8'),
  cert: readFileSync(join(home, 'pool', 'certificate.pem'), 'utf8'),
  key: exportPrivateKey(privateKey),
};

async function outcome(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return 'ok';
  } catch (cause) {
    if (cause instanceof CallRefused) return cause.reason;
    return cause instanceof Error ? cause.constructor.name : String(cause);
  }
}

const client = new MemberClient({ address: control, member, tls });
const said = {
  hello: await outcome(() => client.hello({ wireVersion: WIRE_VERSION, build: 'b' })),
  heartbeat: await outcome(async () => {
    const link = await dialHeartbeat({ address: heartbeat, member, tls }, AbortSignal.timeout(5000));
    link.send(new HeartbeatCodec(tls).encode({ epoch: { counter: BEYOND, coordinator: epoch.coordinator }, news: [] }));
    await link.flushed();
    link.close();
  }),
  order: await outcome(async () => {
    for await (const _event of client.runStage(stageOrder({ epoch })));
  }),
};
process.stdout.write(`${JSON.stringify(said)}\n`);
process.exit(0);
