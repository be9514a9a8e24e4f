import { expect, test } from 'vitest';
import { download, member, pipeline } from '../gateway/testing/memberFixtures.ts';
import { desktopNews } from './desktopNews.ts';
import { type Parts, pool, snapshot } from './testing/snapshots.ts';

const titles = (before: Parts, after: Parts) =>
  desktopNews(snapshot(before), snapshot(after)).map(({ title, page }) => `${page}: ${title}`);
const desk = member('desk');

test('a member that is lost, and one that joins', () => {
  const both = { pool, members: [desk, member('attic')] };
  expect(titles(both, { pool, members: [desk, member('attic', { state: 'lost' })] })).toEqual(['pool: attic is lost']);
  expect(titles({ pool, members: [desk] }, both)).toEqual(['pool: attic has joined']);
  expect(titles(both, { pool, members: [desk, member('attic', { state: 'left' })] })).toEqual([]);
});

test('who was lost from the start, and who is met by coming into a pool, is no news', () => {
  const lost = { pool, members: [desk, member('attic', { state: 'lost' })] };
  expect(titles(lost, lost)).toEqual([]);
  expect(titles({ members: [desk] }, { pool, members: [desk, member('attic')] })).toEqual([]);
  expect(titles({ pool, members: [desk, member('attic')] }, { members: [desk] })).toEqual([]);
});

test('a model that is ready, once for all of its pipelines, and one that fails', () => {
  const coming = { pipelines: [pipeline({ state: 'loading' }), pipeline({ id: 'q', state: 'loading' })] };
  const ready = { pipelines: [pipeline(), pipeline({ id: 'q' })] };
  expect(titles(coming, ready)).toEqual(['chat: demo is ready']);
  expect(titles({ pipelines: [pipeline(), pipeline({ id: 'q', state: 'loading' })] }, ready)).toEqual([]);
  const [news] = desktopNews(
    snapshot(ready),
    snapshot({ pipelines: [pipeline({ state: 'failed', reason: 'attic is lost.' }), pipeline({ id: 'q' })] }),
  );
  expect(news).toEqual({ title: 'demo does not serve', body: 'attic is lost.', page: 'pool' });
  expect(titles(ready, ready)).toEqual([]);
});

test('a download that is done, and one that fails', () => {
  const running = { downloads: [download()] };
  expect(titles(running, { downloads: [download({ state: 'done' })] })).toEqual(['models: A download is done']);
  expect(titles(running, { downloads: [download({ state: 'failed', problem: 'The disk is full.' })] })).toEqual([
    'models: hf:someone/model was not downloaded',
  ]);
  expect(titles({}, { downloads: [download({ state: 'done' })] })).toEqual([]);
});

test('that this machine was removed, but not that it has left', () => {
  const removed = { poolName: 'The room', atMs: 1 };
  expect(titles({ pool }, { removed })).toEqual(['pool: This machine was removed from The room']);
  expect(titles({ pool }, {})).toEqual([]);
  expect(titles({ removed }, { removed })).toEqual([]);
});

test('that somebody may join by an invite, once', () => {
  const open = { pool, invites: [{ id: 'i', expiresAtMs: 1 }] };
  expect(titles({ pool }, open)).toEqual(['pool: A machine may join The room']);
  expect(titles(open, open)).toEqual([]);
  expect(titles(open, { pool })).toEqual([]);
  expect(titles({}, open)).toEqual([]);
});
