import { parentPort } from 'node:worker_threads';
import { Template } from '@huggingface/jinja';

/** What a template host is asked: to render a template once. One order at a time. */
export interface RenderOrder {
  source: string;
  values: Record<string, unknown>;
  /** Longest text, in UTF-16 units. */
  longest: number;
}

export type RenderAnswer =
  | { kind: 'text'; text: string }
  /** `broken`: the template cannot be read. `refused`: it ended with an error over these values. */
  | { kind: 'broken' | 'refused'; reason: string };

/** The thread of a template host: whatever chat templates do, which strangers wrote, they do here. */

const templates = new Map<string, Template>();

parentPort?.on('message', (order: RenderOrder) => parentPort?.postMessage(answer(order)));

function answer({ source, values, longest }: RenderOrder): RenderAnswer {
  let template = templates.get(source);
  try {
    template ??= new Template(source);
    templates.set(source, template);
  } catch (cause) {
    return { kind: 'broken', reason: reasonOf(cause) };
  }
  try {
    const text = template.render(values);
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
