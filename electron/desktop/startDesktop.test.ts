import { expect, test, vi } from 'vitest';
import { app, standIn } from './testing/electronStandIn.ts';
import { ended, start, theTray, theWindow } from './testing/shellHarness.ts';
import { gateway } from './testing/snapshots.ts';

test('the window shows the page of the gateway, sandboxed', async () => {
  await start();
  expect(theWindow().webContents.getURL()).toBe(`${gateway}/`);
  expect(theWindow().visible).toBe(true);
  expect(theWindow().options.webPreferences).toEqual({
    preload: '/app/preload.cjs',
    sandbox: true,
    contextIsolation: true,
    nodeIntegration: false,
    webviewTag: false,
  });
});

test('a second instance hands over to the first, whose window comes to the front', async () => {
  await start();
  theWindow().minimized = true;
  app.emit('second-instance', {}, ['/app/roomful'], '/');
  expect(theWindow().minimized).toBe(false);
  expect(theWindow().focused).toBe(true);
  expect(standIn.windows).toHaveLength(1);

  standIn.reset();
  app.holdsLock = false;
  await start({ startMember: () => Promise.reject(new Error('started a second member')) });
  expect(app.exitCode).toBe(0);
  expect(standIn.windows).toHaveLength(0);
});

test('closing the window hides it, and the tray brings it back', async () => {
  await start();
  theWindow().close();
  expect(theWindow().visible).toBe(false);
  expect(app.exitCode).toBeNull();
  theTray().choose('Open Roomful');
  expect(theWindow().visible).toBe(true);
});

test('a member that cannot start is one plain line and the end', async () => {
  await start({ startMember: () => Promise.reject(new Error('Port 4141 is taken; choose another one.')) });
  expect(standIn.errorBoxes).toEqual([{ title: 'Roomful', content: 'Port 4141 is taken; choose another one.' }]);
  await ended();
  expect(app.exitCode).toBe(1);
});

test('a page that cannot be loaded is said, and the tray tries again', async () => {
  standIn.loadPage = () => Promise.reject(new Error('ERR_CONNECTION_REFUSED'));
  await start();
  expect(standIn.errorBoxes).toHaveLength(1);
  expect(standIn.windows).toHaveLength(0);
  expect(app.exitCode).toBeNull();
  standIn.loadPage = async () => {};
  theTray().choose('Open Roomful');
  await vi.waitFor(() => expect(theWindow().visible).toBe(true));
});
