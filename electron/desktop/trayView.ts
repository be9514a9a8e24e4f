import type { ServingPipeline } from '../gateway/memberApi.ts';
import { type MemberSnapshot, ownMember } from './memberSnapshot.ts';

/** What the icon in the tray shows. */
export type TrayState = 'noPool' | 'idle' | 'serving' | 'working' | 'problem';

/** What an item of the menu asks for. */
export type TrayAction = 'open' | 'copyEndpoint' | 'join' | 'leave' | 'pause' | 'resume' | 'quit';

/** A line that says something, one that does something, or a rule between them. */
export type TrayItem =
  | { kind: 'line'; label: string }
  | { kind: 'action'; label: string; action: TrayAction }
  | { kind: 'rule' };

export interface TrayView {
  state: TrayState;
  /** The first line of the menu and the tooltip. */
  title: string;
  items: TrayItem[];
}

/** What the tray says about the member, and what can be done from there. */
export function trayView(snapshot: MemberSnapshot): TrayView {
  const { state, line } = summary(snapshot);
  const own = ownMember(snapshot.pool);
  const paused = own?.paused.includes('owner') ?? false;
  const sharing = paused ? ', sharing is paused' : (own?.paused.length ?? 0) > 0 ? ', sharing pauses by itself' : '';
  const title = `Roomful: ${line}${sharing}`;
  const { pool } = snapshot.pool.status;
  return {
    state,
    title,
    items: [
      { kind: 'line', label: title },
      ...(pool === null ? [] : [{ kind: 'line' as const, label: poolLine(snapshot, pool.name) }]),
      { kind: 'rule' },
      { kind: 'action', label: 'Open Roomful', action: 'open' },
      { kind: 'action', label: 'Copy Endpoint Address', action: 'copyEndpoint' },
      { kind: 'rule' },
      pool === null
        ? { kind: 'action', label: 'Join a Pool…', action: 'join' }
        : { kind: 'action', label: `Leave ${pool.name}…`, action: 'leave' },
      paused
        ? { kind: 'action', label: 'Share Again', action: 'resume' }
        : { kind: 'action', label: 'Pause Sharing', action: 'pause' },
      { kind: 'rule' },
      { kind: 'action', label: 'Quit Roomful', action: 'quit' },
    ],
  };
}

function summary({ state, pool, library }: MemberSnapshot): { state: TrayState; line: string } {
  const { pipelines } = state;
  const reject = ownMember(pool)?.reject ?? null;
  if (reject !== null) return { state: 'problem', line: 'takes no part in the pool, whose leader runs another build' };
  const failed = pipelines.find((one) => one.state === 'failed' && !servesElsewhere(one, pipelines));
  if (failed !== undefined) return { state: 'problem', line: `${failed.modelId} does not serve` };
  const coming = pipelines.find(({ state: now }) => isComing(now));
  if (coming !== undefined) return { state: 'working', line: `bringing up ${coming.modelId}` };
  const download = library.downloads.find(({ state: now }) => isUnderWay(now));
  if (download !== undefined) return { state: 'working', line: `downloading ${download.reference}` };
  const serving = pipelines.filter(({ state: now }) => now === 'serving');
  const [first] = serving;
  if (first !== undefined) return { state: 'serving', line: servingLine(first, serving.length) };
  if (pool.status.pool === null) return { state: 'noPool', line: 'in no pool' };
  return { state: 'idle', line: 'no model is serving' };
}

function servingLine({ modelId, placement }: ServingPipeline, models: number): string {
  if (models > 1) return `serving ${models} models`;
  const members = new Set(placement.map(({ member }) => member)).size;
  return `serving ${modelId} on ${members === 1 ? 'one member' : `${members} members`}`;
}

function poolLine({ pool }: MemberSnapshot, name: string): string {
  const alive = pool.members.filter(({ state }) => state === 'alive').length;
  return `${name}: ${alive} of ${pool.members.length} ${pool.members.length === 1 ? 'member' : 'members'} here`;
}

function servesElsewhere({ modelId }: ServingPipeline, all: readonly ServingPipeline[]): boolean {
  return all.some((other) => other.modelId === modelId && (other.state === 'serving' || isComing(other.state)));
}

function isComing(state: ServingPipeline['state']): boolean {
  return ['planning', 'fetching', 'loading', 'linking', 'warming'].includes(state);
}

function isUnderWay(state: MemberSnapshot['library']['downloads'][number]['state']): boolean {
  return state === 'resolving' || state === 'running' || state === 'checking';
}
