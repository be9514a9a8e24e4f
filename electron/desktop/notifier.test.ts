import { expect, test } from 'vitest';
import { pipeline } from '../gateway/testing/memberFixtures.ts';
import { ipcChannels } from './ipcChannels.ts';
import { app, standIn } from './testing/electronStandIn.ts';
import { settled, show, start, theTray, theWindow } from './testing/shellHarness.ts';
import { gateway } from './testing/snapshots.ts';

const shown = () => standIn.notifications.map(({ title }) => title);

test('tell what happens while nobody looks, and a click shows it', async () => {
  await start();
  show({ pipelines: [pipeline()] });
  expect(shown()).toEqual(['demo is ready']);
  standIn.notifications[0]?.emit('click');
  await settled();
  expect(theWindow().webContents.getURL()).toBe(`${gateway}/#/chat`);
});

test('say nothing to who looks at the window, nor where they are switched off', async () => {
  await start();
  theWindow().focus();
  show({ pipelines: [pipeline()] });
  expect(shown()).toEqual([]);
  theWindow().focused = false;
  standIn.sendToMain(theWindow().webContents, ipcChannels.toMember, {
    kind: 'call',
    id: 0,
    method: 'changeDesktop',
    params: { notifications: false },
  });
  await settled();
  show({ pipelines: [pipeline({ state: 'failed' })] });
  expect(shown()).toEqual([]);
});

test('a host that crashed is told; one that was ended is not, nor a process of Electron', async () => {
  await start();
  const gone = (details: object) => app.emit('child-process-gone', {}, details);
  gone({ type: 'Utility', reason: 'killed', exitCode: 9, name: 'Roomful stage' });
  gone({ type: 'GPU', reason: 'crashed', exitCode: 1 });
  expect(shown()).toEqual([]);
  gone({ type: 'Utility', reason: 'crashed', exitCode: 1, name: 'Roomful stage' });
  expect(shown()).toEqual(['A part of Roomful has crashed']);
});

test('closing the window tells once that the app goes on', async () => {
  await start();
  theWindow().close();
  theTray().choose('Open Roomful');
  theWindow().close();
  expect(shown()).toEqual(['Roomful goes on']);
});
