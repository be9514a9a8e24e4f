import type { Scenario } from './scenario.ts';
import { scenarioSchema } from './scenarioSchema.ts';

/** Format of what is shared; another one is another version of Roomful. */
const FORMAT = 1;
const MAX_CHARACTERS = 4_000_000;

/** A scenario as the text of a file. */
export function scenarioText(scenario: Scenario): string {
  return `${JSON.stringify({ roomful: 'plan', format: FORMAT, ...scenario }, layersInRuns, 2)}\n`;
}

/** The fragment of an address that shows the scenario: `#/planner?room=...`. */
export function scenarioFragment(scenario: Scenario): string {
  return `#/planner?room=${toBase64Url(JSON.stringify({ roomful: 'plan', format: FORMAT, ...scenario }, layersInRuns))}`;
}

/**
 * Reads what was shared: a whole link, its fragment, or the text of a file. Throws an `Error` with one plain line.
 */
export function readShared(text: string): Scenario {
  if (text.length > MAX_CHARACTERS) throw new Error('This is too long to be a shared plan.');
  const room = /[?&]room=([\w-]+)/.exec(text)?.[1];
  const parsed = scenarioFile(parseJson(room === undefined ? text : fromBase64Url(room)));
  const checked = scenarioSchema.safeParse(parsed);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw new Error(`This plan cannot be read: ${issue?.path.join('.') || 'it'} ${issue?.message ?? 'is wrong'}.`);
}

function scenarioFile(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('roomful' in value) || value.roomful !== 'plan') {
    throw new Error('This is not a shared plan of Roomful.');
  }
  const { roomful: _mark, format, ...scenario } = { format: null, ...value };
  if (format !== FORMAT) throw new Error('This plan was made by another version of Roomful.');
  return scenario;
}

/** Layers that are alike, as most are, take the room of one: a link is to stay short. */
function layersInRuns(key: string, value: unknown): unknown {
  if (key !== 'layers' || !Array.isArray(value)) return value;
  const runs: { text: string; count: number; layer: object }[] = [];
  for (const layer of value) {
    const text = JSON.stringify(layer);
    const last = runs.at(-1);
    if (last?.text === text) last.count += 1;
    else runs.push({ text, count: 1, layer });
  }
  return runs.map(({ count, layer }) => ({ count, ...layer }));
}

function parseJson(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

function toBase64Url(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function fromBase64Url(text: string): string | null {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(binary, (c) => c.charCodeAt(0)));
  } catch {
    return null;
  }
}
