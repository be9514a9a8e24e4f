import { once } from 'node:events';
import { connect } from 'node:tls';
import { z } from 'zod';
import { FileHasher } from '../../../electron/library/slices/fileHasher.ts';
import { HolderPeers } from '../../../electron/library/slices/holderPeers.ts';
import { SliceGate } from '../../../electron/library/slices/sliceGate.ts';
import { StageFileStore } from '../../../electron/library/slices/stageFileStore.ts';
import { tlsMaterialSchema } from '../../../electron/wire/tlsMaterial.ts';

/** A member that gets stages' files one after the other, as a process of its own that may be killed at any moment. */

const orderSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('fetch'),
    tls: tlsMaterialSchema,
    folder: z.string(),
    model: z.string(),
    startLayer: z.int(),
    endLayer: z.int(),
    holders: z.array(z.object({ member: z.string(), addresses: z.array(z.string()) })),
    /** Progress is told after so many bytes each; null for never, since it takes the processor at either end. */
    tellBytes: z.int().nullable(),
  }),
  /** Takes what a bare TLS socket gives and keeps none of it. */
  z.strictObject({ kind: z.literal('bare'), tls: tlsMaterialSchema, port: z.int(), bytes: z.int() }),
]);
type Order = z.infer<typeof orderSchema>;
type FetchOrder = Extract<Order, { kind: 'fetch' }>;
type BareOrder = Extract<Order, { kind: 'bare' }>;

const hasher = new FileHasher();
let highestRss = 0;
setInterval(() => {
  highestRss = Math.max(highestRss, process.memoryUsage.rss());
}, 100).unref();

function tell(value: unknown): void {
  process.send?.(value);
}

/** Runs something and tells what it took. */
async function measured(run: () => Promise<{ path: string; fetchedAt: number }>): Promise<void> {
  highestRss = process.memoryUsage.rss();
  const spent = process.cpuUsage();
  const startedAt = performance.now();
  const { path, fetchedAt } = await run();
  const ms = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(spent);
  tell({
    kind: 'done',
    path,
    ms,
    fetchedMs: fetchedAt - startedAt,
    rss: highestRss,
    cpuMs: (user + system) / 1000,
  });
}

async function fetch({ tls, folder, tellBytes, ...order }: FetchOrder): Promise<{ path: string; fetchedAt: number }> {
  const settings = () => ({ bytesPerSecond: null, loadedShare: 1 });
  const store = await StageFileStore.open({
    folder,
    self: () => 'receiver',
    held: { find: async () => undefined, check: async () => {}, remains: async () => undefined },
    peers: new HolderPeers({ tls: () => tls }),
    hasher,
    gate: new SliceGate({ settings, isLoaded: () => false }),
    budget: () => null,
    onProblem: (problem) => tell({ kind: 'problem', message: problem.message }),
  });
  let told = Number.NEGATIVE_INFINITY;
  let fetchedAt = performance.now();
  const lease = await store.provide(order, {
    signal: new AbortController().signal,
    onProgress: ({ doneBytes, totalBytes }) => {
      if (doneBytes === totalBytes) fetchedAt = performance.now();
      if (tellBytes === null || (doneBytes - told < tellBytes && doneBytes < totalBytes)) return;
      told = doneBytes;
      tell({ kind: 'progress', doneBytes, totalBytes });
    },
  });
  return { path: lease.file.path, fetchedAt };
}

async function bare({ tls, port, bytes }: BareOrder): Promise<{ path: string; fetchedAt: number }> {
  const checkServerIdentity = (): undefined => undefined;
  const socket = connect({ host: '127.0.0.1', port, ...tls, minVersion: 'TLSv1.3', checkServerIdentity });
  let got = 0;
  socket.on('data', (piece: Buffer) => {
    got += piece.byteLength;
  });
  await once(socket, 'end');
  if (got !== bytes) throw new Error(`${got} bytes came of ${bytes}`);
  return { path: '', fetchedAt: performance.now() };
}

process.on('message', (message) => {
  const order = orderSchema.parse(message);
  measured(() => (order.kind === 'fetch' ? fetch(order) : bare(order))).catch((error: unknown) =>
    tell({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
