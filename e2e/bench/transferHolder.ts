import { randomBytes } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createServer } from 'node:tls';
import { z } from 'zod';
import { modelFingerprint } from '../../electron/gguf/modelFingerprint.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { FileHasher } from '../../electron/library/slices/fileHasher.ts';
import { SliceGate } from '../../electron/library/slices/sliceGate.ts';
import { SliceHolder } from '../../electron/library/slices/sliceHolder.ts';
import { SliceStreams } from '../../electron/wire/sliceStreams.ts';
import { slicesService } from '../../electron/wire/slicesService.ts';
import { tlsMaterialSchema } from '../../electron/wire/tlsMaterial.ts';
import { WireServer } from '../../electron/wire/wireServer.ts';

/** The far end of the transfer bench: a holder of one model, and beside it a TLS socket that gives as many bytes. */

const orderSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('start'), tls: tlsMaterialSchema, path: z.string(), bytes: z.int() }),
  z.strictObject({ kind: z.literal('reset') }),
  z.strictObject({ kind: z.literal('report') }),
]);

const CHUNK_BYTES = 256 * 1024;
const delay = monitorEventLoopDelay({ resolution: 1 });
let highestRss = 0;
let cpu = process.cpuUsage();
setInterval(() => {
  highestRss = Math.max(highestRss, process.memoryUsage.rss());
}, 250).unref();

async function start({ tls, path, bytes }: { tls: z.infer<typeof tlsMaterialSchema>; path: string; bytes: number }) {
  const source = await openModel(path);
  const held = { source, hashes: new Map<string, string>() };
  const gate = new SliceGate({
    settings: () => ({ bytesPerSecond: null, loadedShare: 0.1 }),
    isLoaded: () => false,
  });
  const id = modelFingerprint(source);
  const holder = new SliceHolder({
    held: { find: async (model) => (model === id ? held : undefined) },
    gate,
    hasher: new FileHasher(),
  });
  const server = await WireServer.start({
    tls,
    host: '127.0.0.1',
    port: 0,
    services: [slicesService(holder)],
    sliceStreams: new SliceStreams({ source: holder, gate, admits: () => true }),
  });
  const bare = createServer(
    { cert: tls.cert, key: tls.key, ca: tls.ca, requestCert: true, minVersion: 'TLSv1.3', noDelay: true },
    (socket) => {
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
    },
  );
  await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve));
  const address = bare.address();
  return { address: server.address, bare: typeof address === 'object' ? (address?.port ?? 0) : 0 };
}

process.on('message', (message) => {
  const order = orderSchema.parse(message);
  const answer = (value: unknown): void => void process.send?.(value);
  if (order.kind === 'start') {
    void start(order).then(answer);
    return;
  }
  if (order.kind === 'reset') {
    delay.reset();
    delay.enable();
    highestRss = 0;
    cpu = process.cpuUsage();
    answer(null);
    return;
  }
  const { user, system } = process.cpuUsage(cpu);
  answer({
    user: user / 1000,
    sys: system / 1000,
    p99Ms: delay.percentile(99) / 1e6,
    maxMs: delay.max / 1e6,
    rss: highestRss,
  });
});

process.on('SIGUSR2', () => process.exit(0));
