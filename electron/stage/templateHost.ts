import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { pythonTemplate } from './pythonTemplate.ts';
import type { RenderAnswer, TemplateAnswer, TemplateOrder } from './templateOrders.ts';

/**
 * The entry of a template host: whatever a chat template does, which a stranger wrote, it does here. A process of its own, because
 * V8 ends the process that runs out of memory; a thread beside it sees to its limits, and that it ends with its parent, while a
 * template never ends.
 */

/** Electron's `process.parentPort`, as far as it is used here. */
interface ParentPort {
  on(event: 'message', listener: (event: { data: TemplateOrder }) => void): void;
  postMessage(message: TemplateAnswer): void;
}

let template: ReturnType<typeof pythonTemplate> | { broken: string } = { broken: 'there is none' };

new Worker(fileURLToPath(new URL('./templateWatch.js', import.meta.url)), { execArgv: [] })
  // Unwatched it may not go on, which its parent sees.
  .on('error', () => process.exit(1))
  .on('exit', () => process.exit(1));
const electron = (process as { parentPort?: ParentPort }).parentPort;
if (electron === undefined) {
  process.on('message', (order: TemplateOrder) => take(order, (answer) => process.send?.(answer)));
  process.on('disconnect', () => process.exit(0));
} else electron.on('message', ({ data }) => take(data, (answer) => electron.postMessage(answer)));
// Ctrl-C in a terminal reaches every process of the group; only the parent decides when a host leaves.
process.on('SIGINT', () => {});

function take(order: TemplateOrder, answer: (answer: TemplateAnswer) => void): void {
  if ('source' in order) {
    answer({ kind: 'started' });
    template = read(order.source);
  } else answer(render(order.values, order.longest));
}

function read(source: string): typeof template {
  try {
    return pythonTemplate(source);
  } catch (cause) {
    return { broken: reasonOf(cause) };
  }
}

function render(values: string, longest: number): RenderAnswer {
  if ('broken' in template) return { kind: 'broken', reason: template.broken };
  try {
    const text = template.render(JSON.parse(values));
    if (text.length > longest) return { kind: 'refused', reason: `it makes more than ${longest} characters of them` };
    return { kind: 'text', text };
  } catch (cause) {
    return { kind: 'refused', reason: reasonOf(cause) };
  }
}

function reasonOf(cause: unknown): string {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return reason.slice(0, 500);
}
