import type { PoolState } from '../gateway/memberApi.ts';
import type { MemberSnapshot } from './memberSnapshot.ts';
import type { PageName } from './pageLink.ts';

/** Something that happened and that somebody who does not look at the window may want to know. */
export interface DesktopNews {
  title: string;
  body: string;
  /** The page that shows more. */
  page: PageName;
}

/** What happened between two moments, in plain lines. What was so from the start is no news. */
export function desktopNews(before: MemberSnapshot, after: MemberSnapshot): DesktopNews[] {
  return [
    ...ownNews(before.pool, after.pool),
    ...memberNews(before, after),
    ...modelNews(before, after),
    ...downloadNews(before, after),
  ];
}

/** What concerns this machine itself: that it was removed, and who may come in by an invite of it. */
function ownNews(before: PoolState, after: PoolState): DesktopNews[] {
  const { removed } = after;
  if (before.status.pool !== null && after.status.pool === null && removed !== null) {
    const title = `This machine was removed from ${removed.poolName}`;
    return [{ title, body: 'To come back it needs a new invite from one of its admins.', page: 'pool' }];
  }
  const place = after.status.pool;
  if (place === null || before.status.pool?.id !== place.id) return [];
  const known = new Set(before.invites.map(({ id }) => id));
  return after.invites
    .filter(({ id }) => !known.has(id))
    .map(({ expiresAtMs }) => ({
      title: `A machine may join ${place.name}`,
      body: `An invite was made on this machine. It works until ${timeOf(expiresAtMs)}; the Pool page withdraws it.`,
      page: 'pool',
    }));
}

function timeOf(ms: number): string {
  return new Date(ms).toLocaleTimeString([], { timeStyle: 'short' });
}

function memberNews(before: MemberSnapshot, after: MemberSnapshot): DesktopNews[] {
  const pool = after.pool.status.pool;
  // Who comes into a pool, or leaves it, finds others there and loses them all; that is no news of theirs.
  if (pool === null || before.pool.status.pool?.id !== pool.id) return [];
  const was = new Map(before.pool.members.map(({ id, state }) => [id, state]));
  return after.pool.members.flatMap(({ id, name, self, state }): DesktopNews[] => {
    if (self) return [];
    const earlier = was.get(id);
    if (earlier === undefined)
      return [{ title: `${name} has joined`, body: `It is in ${pool.name} now.`, page: 'pool' }];
    if (state !== 'lost' || (earlier !== 'alive' && earlier !== 'suspect')) return [];
    return [
      { title: `${name} is lost`, body: 'It does not answer any more. Models with layers on it stop.', page: 'pool' },
    ];
  });
}

function modelNews(before: MemberSnapshot, after: MemberSnapshot): DesktopNews[] {
  const was = new Map(before.state.pipelines.map(({ id, state }) => [id, state]));
  const served = new Set(
    before.state.pipelines.flatMap(({ modelId, state }) => (state === 'serving' ? [modelId] : [])),
  );
  const told = new Set<string>();
  return after.state.pipelines.flatMap(({ id, modelId, state, reason, placement }): DesktopNews[] => {
    const changed = was.get(id) !== state;
    if (!changed || told.has(modelId)) return [];
    if (state === 'serving' && !served.has(modelId)) {
      told.add(modelId);
      const members = new Set(placement.map(({ member }) => member)).size;
      const where = members === 1 ? 'one member' : `${members} members`;
      return [{ title: `${modelId} is ready`, body: `It serves on ${where}.`, page: 'chat' }];
    }
    if (state === 'failed') {
      told.add(modelId);
      return [{ title: `${modelId} does not serve`, body: reason ?? 'The log says why.', page: 'pool' }];
    }
    return [];
  });
}

function downloadNews(before: MemberSnapshot, after: MemberSnapshot): DesktopNews[] {
  const was = new Map(before.library.downloads.map(({ id, state }) => [id, state]));
  return after.library.downloads.flatMap(({ id, reference, state, problem }): DesktopNews[] => {
    const earlier = was.get(id);
    if (earlier === undefined || earlier === state) return [];
    if (state === 'done')
      return [{ title: 'A download is done', body: `${reference} can be served now.`, page: 'models' }];
    if (state === 'failed') return [{ title: `${reference} was not downloaded`, body: problem ?? '', page: 'models' }];
    return [];
  });
}
