import { randomBytes } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createServer } from 'node:tls';
import { z } from 'zod';
import { modelFingerprint } from '../../../electron/gguf/modelFingerprint.ts';
import { openModel } from '../../../electron/gguf/openModel.ts';
import { FileHasher } from '../../../electron/library/slices/fileHasher.ts';
import { SliceGate } from '../../../electron/library/slices/sliceGate.ts';
import { SliceHolder } from '../../../electron/library/slices/sliceHolder.ts';
import { SliceStreams } from '../../../electron/wire/sliceStreams.ts';
import { slicesService } from '../../../electron/wire/slicesService.ts';
import { tlsMaterialSchema } from '../../../electron/wire/tlsMaterial.ts';
import { WireServer } from '../../../electron/wire/wireServer.ts';

/** A holder of one model as a process of its own, and beside it a TLS socket that gives as many bytes from memory. */

const orderSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('start'),
    tls: tlsMaterialSchema,
    path: z.string(),
    port: z.int(),
    bytesPerSecond: z.number().nullable(),
    /** Of tensors, as they were recorded; empty where nothing was. */
    hashes: z.array(z.tuple([z.string(), z.string()])),
    /** Bytes that the bare socket gives; null for no such socket. */
    bareBytes: z.int().nullable(),
  }),
  z.strictObject({ kind: z.literal('reset') }),
  z.strictObject({ kind: z.literal('report') }),
]);
type StartOrder = Extract<z.infer<typeof orderSchema>, { kind: 'start' }>;

const CHUNK_BYTES = 256 * 1024;
const delay = monitorEventLoopDelay({ resolution: 1 });
let highestRss = 0;
let spent = process.cpuUsage();
setInterval(() => {
  highestRss = Math.max(highestRss, process.memoryUsage.rss());
}, 100).unref();

async function start({ tls, path, port, hashes, bytesPerSecond, bareBytes }: StartOrder) {
  const source = await openModel(path);
  const id = modelFingerprint(source);
  const held = { source, hashes: new Map(hashes) };
  const gate = new SliceGate({ settings: () => ({ bytesPerSecond, loadedShare: 0.1 }), isLoaded: () => false });
  const holder = new SliceHolder({
    held: { find: async (model) => (model === id ? held : undefined) },
    gate,
    hasher: new FileHasher(),
  });
  const server = await WireServer.start({
    tls,
    host: '127.0.0.1',
    port,
    services: [slicesService(holder)],
    sliceStreams: new SliceStreams({ source: holder, gate, admits: () => true }),
  });
  return { address: server.address, bare: bareBytes === null ? 0 : await startBare(tls, bareBytes) };
}

/** The same bytes without anything but TLS: answers the port. */
async function startBare(tls: StartOrder['tls'], bytes: number): Promise<number> {
  const server = createServer({ ...tls, requestCert: true, minVersion: 'TLSv1.3', noDelay: true }, (socket) => {
    socket.on('error', () => {});
    const chunk = randomBytes(CHUNK_BYTES);
    let left = bytes;
    const more = (): void => {
      while (left > 0) {
        const part = chunk.subarray(0, Math.min(left, CHUNK_BYTES));
        left -= part.byteLength;
        if (!socket.write(part)) {
          socket.once('drain', more);
          return;
        }
      }
      socket.end();
    };
    more();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

process.on('message', (message) => {
  const order = orderSchema.parse(message);
  const answer = (value: unknown): void => void process.send?.(value);
  if (order.kind === 'start') {
    void start(order).then(answer);
  } else if (order.kind === 'reset') {
    delay.reset();
    delay.enable();
    highestRss = process.memoryUsage.rss();
    spent = process.cpuUsage();
    answer(null);
  } else {
    const { user, system } = process.cpuUsage(spent);
    answer({ p99Ms: delay.percentile(99) / 1e6, rss: highestRss, cpuMs: (user + system) / 1000 });
  }
});
process.on('disconnect', () => process.exit(0));
