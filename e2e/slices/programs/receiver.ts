import { z } from 'zod';
import { FileHasher } from '../../../electron/library/slices/fileHasher.ts';
import { HolderPeers } from '../../../electron/library/slices/holderPeers.ts';
import { SliceGate } from '../../../electron/library/slices/sliceGate.ts';
import { StageFileStore } from '../../../electron/library/slices/stageFileStore.ts';
import { tlsMaterialSchema } from '../../../electron/wire/tlsMaterial.ts';

/** A member that gets one stage's files, as a process of its own that may be killed at any moment. */

const orderSchema = z.strictObject({
  tls: tlsMaterialSchema,
  folder: z.string(),
  model: z.string(),
  startLayer: z.int(),
  endLayer: z.int(),
  holders: z.array(z.object({ member: z.string(), addresses: z.array(z.string()) })),
});

const TELL_BYTES = 1 << 20;
let highestRss = 0;
setInterval(() => {
  highestRss = Math.max(highestRss, process.memoryUsage.rss());
}, 100).unref();

process.once('message', (message) => {
  const { tls, folder, ...request } = orderSchema.parse(message);
  const tell = (value: unknown): void => void process.send?.(value);
  const run = async (): Promise<void> => {
    const settings = () => ({ bytesPerSecond: null, loadedShare: 1 });
    const store = await StageFileStore.open({
      folder,
      self: () => 'receiver',
      held: { find: async () => undefined },
      peers: new HolderPeers({ tls: () => tls }),
      hasher: new FileHasher(),
      gate: new SliceGate({ settings, isLoaded: () => false }),
      budget: () => null,
      onProblem: (problem) => tell({ kind: 'problem', message: problem.message }),
    });
    let told = Number.NEGATIVE_INFINITY;
    const spent = process.cpuUsage();
    const startedAt = performance.now();
    let fetchedAt = startedAt;
    const lease = await store.provide(request, {
      signal: new AbortController().signal,
      onProgress: ({ doneBytes, totalBytes }) => {
        if (doneBytes === totalBytes) fetchedAt = performance.now();
        if (doneBytes - told < TELL_BYTES && doneBytes < totalBytes) return;
        told = doneBytes;
        tell({ kind: 'progress', doneBytes, totalBytes });
      },
    });
    const ms = performance.now() - startedAt;
    const { user, system } = process.cpuUsage(spent);
    const cpuMs = (user + system) / 1000;
    tell({ kind: 'done', path: lease.file.path, ms, fetchedMs: fetchedAt - startedAt, rss: highestRss, cpuMs });
  };
  run().catch((error: unknown) =>
    tell({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
