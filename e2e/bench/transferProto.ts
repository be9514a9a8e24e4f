import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { modelFingerprint } from '../../electron/gguf/modelFingerprint.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { foundPool } from '../../electron/pool/foundPool.ts';
import { openIdentity } from '../../electron/pool/identity.ts';
import { openTlsMaterial } from '../../electron/pool/poolCertificate.ts';
import { SliceStream } from '../../electron/wire/sliceStream.ts';
import { generateModel } from '../models/generateModel.ts';

const home = await mkdtemp(join(tmpdir(), 'roomful-bench-'));
const child = fork(
  fileURLToPath(new URL('./transferHolder.js', import.meta.url)),
  [],
  process.env.PROF ? { execArgv: ['--cpu-prof', '--cpu-prof-dir=/tmp/slx/prof'] } : {},
);
const homes = { near: join(home, 'near'), far: join(home, 'far') };
await foundPool(home, Object.values(homes));
const speaker = async (h: string) => {
  const identity = await openIdentity(h);
  return { identity, tls: await openTlsMaterial(h, identity) };
};
const [near, far] = await Promise.all([speaker(homes.near), speaker(homes.far)]);
const path = join(home, 'model.gguf');
await generateModel(path, {
  architecture: 'llama',
  layers: 16,
  width: 1024,
  heads: 8,
  kvHeads: 8,
  feedForward: 3072,
  vocabulary: 4000,
  tied: true,
  seed: 1,
  types: { embedding: 'Q8_0', attention: 'Q8_0', feedForward: 'Q8_0' },
});
const model = await openModel(path);
const id = modelFingerprint(model);
console.log('bytes', model.tensorBytes);
child.send({ kind: 'start', tls: far.tls, path, bytes: model.tensorBytes });
const [{ address, bare }] = (await once(child, 'message')) as [{ address: string; bare: number }];
const ask = async (kind: string) => {
  child.send({ kind });
  return (await once(child, 'message'))[0];
};
for (let round = 0; round < 2; round += 1) {
  await ask('reset');
  let t = performance.now();
  let got = 0;
  const bc = process.cpuUsage();
  const socket = connect({
    host: '127.0.0.1',
    port: bare,
    cert: near.tls.cert,
    key: near.tls.key,
    ca: near.tls.ca,
    checkServerIdentity: () => undefined,
    minVersion: 'TLSv1.3',
  });
  socket.on('data', (d: Buffer) => {
    got += d.length;
  });
  await once(socket, 'end');
  const bu = process.cpuUsage(bc);
  console.log(
    (bu.user + bu.system) / 1000,
    'bare',
    (got / 1e6 / ((performance.now() - t) / 1000)).toFixed(0),
    'MB/s',
    await ask('report'),
  );
  for (const streams of [1, 2, 4])
    for (const hashing of [false, true]) {
      await ask('reset');
      const tensors = [...model.tensors.values()];
      const conns = await Promise.all(
        Array.from({ length: streams }, () => SliceStream.open({ address, member: far.identity.id, tls: near.tls })),
      );
      t = performance.now();
      const cpu = process.cpuUsage();
      got = 0;
      await Promise.all(
        conns.map(async (conn, n) => {
          const ranges = tensors
            .filter((_, i) => i % streams === n)
            .map(({ name, byteLength }) => ({ tensor: name, header: undefined, offset: 0, bytes: byteLength }));
          const h = createHash('sha256');
          for await (const bytes of conn.read(id, ranges)) {
            got += bytes.length;
            if (hashing) h.update(bytes);
          }
          conn.close();
        }),
      );
      const used = process.cpuUsage(cpu);
      console.log(
        'slices',
        streams,
        hashing,
        (got / 1e6 / ((performance.now() - t) / 1000)).toFixed(0),
        'MB/s cpu',
        ((used.user + used.system) / 1000).toFixed(0),
        (performance.now() - t).toFixed(0),
        await ask('report'),
        (process.memoryUsage.rss() / 1e6).toFixed(0),
      );
    }
}
child.kill('SIGUSR2');
await new Promise((r) => setTimeout(r, 2000));
child.kill();
await rm(home, { recursive: true });
process.exit(0);
