import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { foundPool } from '../../electron/pool/foundPool.ts';
import { type Identity, openIdentity } from '../../electron/pool/identity.ts';
import { openTlsMaterial } from '../../electron/pool/poolCertificate.ts';
import { followRing } from '../../electron/wire/followRing.ts';
import { ActivationFormat, StepFrame } from '../../electron/wire/generated/roomful/v1/ring.ts';
import type { RingLink } from '../../electron/wire/ringLink.ts';
import { type RingPlace, RingServer } from '../../electron/wire/ringServer.ts';
import { type TlsMaterial, tlsMaterialSchema } from '../../electron/wire/tlsMaterial.ts';
import { WireServer } from '../../electron/wire/wireServer.ts';
import type { BenchReport } from './report.ts';

const KIB = 1024;
/** Activations of one token at f16 for 8,192 values are 16 KiB; the last is a prefill chunk. */
const SIZES = [KIB, 16 * KIB, 64 * KIB, 4 * KIB * KIB];
const WARM_UP = 300;
const pipeline = 'bench';
const epoch = { counter: 1, coordinator: 'bench' };

/** What the far end is told. */
export const echoOrderSchema = z.strictObject({ tls: tlsMaterialSchema, member: z.string(), address: z.string() });

/**
 * What links add to a step: a frame goes from this process to another and back, over two links with mutual TLS, and nothing
 * is computed.
 */
export async function links(): Promise<BenchReport> {
  const home = await mkdtemp(join(tmpdir(), 'roomful-bench-'));
  const child = fork(fileURLToPath(new URL('./linkEcho.js', import.meta.url)));
  try {
    const homes = { near: join(home, 'near'), far: join(home, 'far') };
    await foundPool(home, Object.values(homes));
    const [near, far] = await Promise.all([speaker(homes.near), speaker(homes.far)]);
    const { outlet, server } = await serve(near.tls, { position: 0, follower: far.identity.id });
    const address = await startEcho(child, { tls: far.tls, member: near.identity.id, address: server.address });
    const link = await follow(near.tls, { member: far.identity.id, address, position: 1 });
    const rows: BenchReport['rows'] = [];
    let step = 0;
    for (const bytes of SIZES) {
      const frame = frameOf(bytes);
      const times: number[] = [];
      for (let round = 0; round < WARM_UP + Math.min(3000, 2 ** 28 / bytes); round += 1) {
        const before = performance.now();
        await outlet.send({ ...frame, step: ++step });
        await link.next();
        if (round >= WARM_UP) times.push((performance.now() - before) * 1000);
      }
      times.sort((a, b) => a - b);
      const at = (share: number): number => Math.round(times[Math.floor(times.length * share)] ?? Number.NaN);
      rows.push({ bytes, medianUs: at(0.5), p90Us: at(0.9) });
      process.stderr.write(`${bytes} bytes done\n`);
    }
    link.close();
    await outlet.close();
    await server.close();
    return {
      title: 'links: round trip of a frame over two links, TLS 1.3, loopback',
      columns: ['bytes', 'medianUs', 'p90Us'],
      rows,
    };
  } finally {
    child.kill();
    await rm(home, { recursive: true, force: true });
  }
}

/** One end's server with the place of its follower. */
export async function serve(tls: TlsMaterial, place: Pick<RingPlace, 'position' | 'follower'>) {
  const ring = new RingServer();
  const outlet = ring.open({ pipeline, epoch, ...place });
  return { outlet, server: await WireServer.start({ tls, host: '127.0.0.1', port: 0, services: [ring.service] }) };
}

export function follow(
  tls: TlsMaterial,
  from: { member: string; address: string; position: number },
): Promise<RingLink> {
  return followRing({ ...from, tls, pipeline, epoch });
}

async function speaker(home: string): Promise<{ identity: Identity; tls: TlsMaterial }> {
  const identity = await openIdentity(home);
  return { identity, tls: await openTlsMaterial(home, identity) };
}

async function startEcho(child: ChildProcess, order: z.infer<typeof echoOrderSchema>): Promise<string> {
  child.send(order);
  return z.string().parse((await once(child, 'message'))[0]);
}

function frameOf(bytes: number): StepFrame {
  const run = { slot: 0, generation: 1, start: 0, tokens: [1] };
  const format = ActivationFormat.ACTIVATION_FORMAT_F16;
  return StepFrame.fromPartial({ pipeline, epoch, runs: [run], format, activations: Buffer.alloc(bytes, 1) });
}
