import { expect, test } from 'vitest';
import { download, member, pipeline } from '../gateway/testing/memberFixtures.ts';
import { type Parts, pool, snapshot } from './testing/snapshots.ts';
import { type TrayState, trayView } from './trayView.ts';

const build = { kind: 'BuildMismatch', expected: 'a', found: 'b' } as const;
const states: [string, Parts, TrayState, string][] = [
  ['in no pool', {}, 'noPool', 'Roomful: in no pool'],
  ['in a pool that serves nothing', { pool }, 'idle', 'Roomful: no model is serving'],
  ['a model serves', { pool, pipelines: [pipeline()] }, 'serving', 'Roomful: serving demo on 2 members'],
  [
    'several models serve',
    { pipelines: [pipeline(), pipeline({ id: 'q', modelId: 'other' })] },
    'serving',
    'Roomful: serving 2 models',
  ],
  [
    'a model comes up beside one that serves',
    { pipelines: [pipeline(), pipeline({ id: 'q', modelId: 'other', state: 'loading' })] },
    'working',
    'Roomful: bringing up other',
  ],
  ['a download runs', { pool, downloads: [download()] }, 'working', 'Roomful: downloading hf:someone/model'],
  ['a download is done', { pool, downloads: [download({ state: 'done' })] }, 'idle', 'Roomful: no model is serving'],
  [
    'a model has failed',
    { pool, pipelines: [pipeline({ state: 'failed', reason: 'attic is lost.' })] },
    'problem',
    'Roomful: demo does not serve',
  ],
  [
    'a model has failed that another pipeline serves',
    { pool, pipelines: [pipeline({ state: 'failed' }), pipeline({ id: 'q' })] },
    'serving',
    'Roomful: serving demo on 2 members',
  ],
  [
    'this machine runs another build',
    { pool, members: [member('desk', { reject: build })] },
    'problem',
    'Roomful: takes no part in the pool, whose leader runs another build',
  ],
];

test.each(states)('%s', (_name, parts, state, title) => {
  const view = trayView(snapshot(parts));
  expect([view.state, view.title]).toEqual([state, title]);
  expect(view.items[0]).toEqual({ kind: 'line', label: title });
});

const actions = (parts: Parts) =>
  trayView(snapshot(parts)).items.flatMap((item) => (item.kind === 'action' ? [`${item.action}: ${item.label}`] : []));

test('the menu offers what can be done now', () => {
  expect(actions({})).toEqual([
    'open: Open Roomful',
    'copyEndpoint: Copy Endpoint Address',
    'join: Join a Pool…',
    'pause: Pause Sharing',
    'quit: Quit Roomful',
  ]);
  expect(actions({ pool, members: [member('desk', { paused: ['owner', 'battery'] })] })).toEqual([
    'open: Open Roomful',
    'copyEndpoint: Copy Endpoint Address',
    'leave: Leave The room…',
    'resume: Share Again',
    'quit: Quit Roomful',
  ]);
});

test('it says who is there, and that sharing pauses', () => {
  const members = [member('desk', { paused: ['owner'] }), member('attic'), member('lap', { state: 'lost' })];
  const view = trayView(snapshot({ pool, members }));
  expect(view.title).toBe('Roomful: no model is serving, sharing is paused');
  expect(view.items[1]).toEqual({ kind: 'line', label: 'The room: 2 of 3 members here' });
  const onBattery = trayView(snapshot({ pool, members: [member('desk', { paused: ['battery'] })] }));
  expect(onBattery.title).toBe('Roomful: no model is serving, sharing pauses by itself');
});
