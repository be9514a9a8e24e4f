/**
 * What the links add to a step: a frame of 16 KB goes from this process to a child and back over two links with mutual
 * TLS, and nothing is computed. Prints the round trip in microseconds as JSON. `node dist/e2e/bench/ringLatency.js`
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exportPrivateKey, openIdentity } from '../../electron/pool/identity.ts';
import { openPoolAuthority } from '../../electron/pool/poolAuthority.ts';
import { followRing } from '../../electron/wire/followRing.ts';
import { ActivationFormat, type StepFrame } from '../../electron/wire/generated/roomful/v1/ring.ts';
import { type RingPlace, RingServer } from '../../electron/wire/ringServer.ts';
import type { TlsMaterial } from '../../electron/wire/tlsMaterial.ts';
import { WireServer } from '../../electron/wire/wireServer.ts';

const FRAME_BYTES = 16 * 1024;
const WARM_UP = 500;
const STEPS = 4000;
const epoch = { counter: 1, coordinator: 'bench' };

interface Side {
  tls: TlsMaterial;
  member: string;
  address: string;
}

function serve(tls: TlsMaterial, place: Pick<RingPlace, 'position' | 'follower'>) {
  const ring = new RingServer();
  const outlet = ring.open({ pipeline: 'bench', epoch, ...place });
  return { outlet, server: WireServer.start({ tls, host: '127.0.0.1', port: 0, services: [ring.service] }) };
}

function follow(tls: TlsMaterial, from: Omit<Side, 'tls'>, position: number) {
  return followRing({ ...from, tls, pipeline: 'bench', epoch, position });
}

/** The child: sends back whatever comes. */
async function echo(): Promise<void> {
  const [{ tls, member, address }]: [Side] = (await once(process, 'message')) as [Side];
  const { outlet, server } = serve(tls, { position: 1, follower: member });
  process.send?.((await server).address);
  const link = await follow(tls, { member, address }, 0);
  for await (const frame of link) await outlet.send(frame);
  process.exit(0);
}

async function measure(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'roomful-bench-'));
  const child = fork(fileURLToPath(import.meta.url), ['echo']);
  try {
    const authority = await openPoolAuthority(home);
    const sides = await Promise.all(
      ['near', 'far'].map(async (name) => {
        const identity = await openIdentity(join(home, name));
        const cert = await authority.issueCertificate(identity.publicKey);
        return {
          id: identity.id,
          tls: { ca: authority.certificate, cert, key: exportPrivateKey(identity.privateKey) },
        };
      }),
    );
    const [near, far] = sides;
    if (near === undefined || far === undefined) throw new Error('no members');
    const { outlet, server } = serve(near.tls, { position: 0, follower: far.id });
    child.send({ tls: far.tls, member: near.id, address: (await server).address });
    const [address] = (await once(child, 'message')) as [string];
    const link = await follow(near.tls, { member: far.id, address }, 1);
    const frame: StepFrame = {
      pipeline: 'bench',
      epoch,
      step: 0,
      runs: [{ slot: 0, generation: 1, start: 0, tokens: [1], sampling: undefined }],
      format: ActivationFormat.ACTIVATION_FORMAT_F16,
      activations: Buffer.alloc(FRAME_BYTES, 1),
      exact: false,
      closedSlots: [],
      timings: [],
      committed: [],
      failure: undefined,
    };
    const times: number[] = [];
    for (let step = 0; step < WARM_UP + STEPS; step += 1) {
      const start = performance.now();
      await outlet.send({ ...frame, step });
      await link.next();
      if (step >= WARM_UP) times.push((performance.now() - start) * 1000);
    }
    times.sort((a, b) => a - b);
    const at = (share: number): number => Math.round(times[Math.floor(times.length * share)] ?? 0);
    const result = { frameBytes: FRAME_BYTES, links: 2, medianUs: at(0.5), p90Us: at(0.9), p99Us: at(0.99) };
    process.stdout.write(`${JSON.stringify(result)}\n`);
  } finally {
    child.kill();
    await rm(home, { recursive: true, force: true });
  }
}

await (process.argv[2] === 'echo' ? echo() : measure());
process.exit(0);
