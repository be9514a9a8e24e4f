import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { RenderAnswer, RenderOrder } from './templateThread.ts';

/**
 * The entry of a template host, which renders one chat template after another. It renders in a thread, so that it ends with its
 * parent even while a template never ends; it is a process of its own because V8 ends the process that runs out of memory.
 */

/** Of the thread's heap, MiB. */
const HEAP_MIB = 256;

/** Electron's `process.parentPort`, as far as it is used here. */
interface ParentPort {
  on(event: 'message', listener: (event: { data: RenderOrder }) => void): void;
  postMessage(message: RenderAnswer): void;
}

const thread = new Worker(fileURLToPath(new URL('./templateThread.js', import.meta.url)), {
  execArgv: [],
  resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB, maxYoungGenerationSizeMb: 32 },
});
const electron = (process as { parentPort?: ParentPort }).parentPort;
thread.on('message', (answer: RenderAnswer) => {
  if (electron === undefined) process.send?.(answer);
  else electron.postMessage(answer);
});
// What the thread dies of the process dies of, which its parent sees.
thread.on('error', () => process.exit(1));
thread.on('exit', () => process.exit(1));
if (electron === undefined) {
  process.on('message', (order: RenderOrder) => thread.postMessage(order));
  process.on('disconnect', () => process.exit(0));
} else electron.on('message', ({ data }) => thread.postMessage(data));
// Ctrl-C in a terminal reaches every process of the group; only the parent decides when a host leaves.
process.on('SIGINT', () => {});
