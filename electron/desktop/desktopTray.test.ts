import { expect, test, vi } from 'vitest';
import { pipeline, member as poolMember } from '../gateway/testing/memberFixtures.ts';
import { localMemberApi } from '../gateway/window/memberState.ts';
import { standIn } from './testing/electronStandIn.ts';
import { called, settled, show, start, theQuestion, theTray, theWindow, world } from './testing/shellHarness.ts';
import { gateway, pool } from './testing/snapshots.ts';

test('shows each state as it comes', async () => {
  await start();
  const picture = process.platform === 'darwin' ? 'Template.png' : '.png';
  expect(theTray().image).toBe(`/app/icons/trayNoPool${picture}`);
  show({ pool });
  expect(theTray().image).toBe(`/app/icons/trayIdle${picture}`);
  show({ pool, pipelines: [pipeline({ state: 'loading' })] });
  expect(theTray().image).toBe(`/app/icons/trayWorking${picture}`);
  show({ pool, pipelines: [pipeline()] });
  expect(theTray().image).toBe(`/app/icons/trayServing${picture}`);
  expect(theTray().toolTip).toBe('Roomful: serving demo on 2 members');
  expect(theTray().menu?.items[0]).toEqual({ label: 'Roomful: serving demo on 2 members', enabled: false });
  show({ pool, pipelines: [pipeline({ state: 'failed' })] });
  expect(theTray().image).toBe(`/app/icons/trayProblem${picture}`);
});

test('an open menu is left alone while nothing that it shows changes', async () => {
  await start();
  show({ pool, pipelines: [pipeline()] });
  const { menu } = theTray();
  show({ pool, pipelines: [pipeline({ lastTokensPerSecond: 30 })] });
  expect(theTray().menu).toBe(menu);
});

test('copies the endpoint, pauses and shares again', async () => {
  await start();
  theTray().choose('Copy Endpoint Address');
  expect(standIn.clipboard).toBe(`${gateway}/v1`);
  theTray().choose('Pause Sharing');
  await called('pause');
  show({ members: [poolMember('desk', { paused: ['owner'] })] });
  theTray().choose('Share Again');
  await called('resume');
});

test('joining leads to the window, which asks for the token', async () => {
  await start();
  theWindow().close();
  theTray().choose('Join a Pool…');
  await settled();
  expect(theWindow().webContents.getURL()).toBe(`${gateway}/#/pool?ask=join`);
  expect(theWindow().visible).toBe(true);
});

test('leaving asks first', async () => {
  await start();
  show({ pool });
  theTray().choose('Leave The room…');
  (await theQuestion()).choose('Cancel');
  await settled();
  expect(world.calls).toEqual([]);
  theTray().choose('Leave The room…');
  const box = await theQuestion();
  expect(box.options).toMatchObject({ message: 'Leave The room?', defaultId: 1, cancelId: 1 });
  box.choose('Leave');
  await called('leave');
});

test('what the member refuses is said', async () => {
  world.member.api = localMemberApi({ state: world.state, pool: world.pool, library: world.library });
  await start();
  theTray().choose('Pause Sharing');
  await vi.waitFor(() => expect(standIn.errorBoxes).toHaveLength(1));
});

test('a click on the icon shows the window', async () => {
  await start();
  theWindow().close();
  theTray().emit('click');
  expect(theWindow().visible).toBe(process.platform !== 'darwin');
});
