import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { app, standIn } from './testing/electronStandIn.ts';
import { settled, start, theQuestion, theTray, theWindow, world } from './testing/shellHarness.ts';

test('is kept, and taken from it while its display is there', async () => {
  standIn.displays = [
    { id: 1, workArea: { x: 0, y: 0, width: 1920, height: 1040 } },
    { id: 2, workArea: { x: 1920, y: 0, width: 1600, height: 1000 } },
  ];
  await start();
  theWindow().moveTo({ x: 2000, y: 50, width: 900, height: 700 });
  theWindow().maximized = true;
  theWindow().emit('maximize');
  await vi.waitFor(async () => expect(await readFile(join(world.home, 'window.json'), 'utf8')).toContain('true'));

  const { displays } = standIn;
  standIn.reset();
  standIn.displays = displays;
  await start();
  expect(theWindow().options).toMatchObject({ x: 2000, y: 50, width: 900, height: 700 });
  expect(theWindow().maximized).toBe(true);

  standIn.reset();
  await start();
  expect(theWindow().options).toMatchObject({ x: 510, y: 170, width: 900, height: 700 });
});

test('is loaded again, but not for ever', async () => {
  await start();
  const { webContents } = theWindow();
  for (let crash = 0; crash < 3; crash += 1) webContents.crash('crashed');
  await settled();
  expect([webContents.reloads, standIn.messageBoxes.length]).toEqual([3, 0]);
  webContents.crash('oom');
  (await theQuestion()).choose('Load It Again');
  await vi.waitFor(() => expect(webContents.reloads).toBe(4));
});

test('may be closed instead, and opened from the tray later', async () => {
  await start();
  for (let crash = 0; crash < 4; crash += 1) theWindow().webContents.crash('crashed');
  (await theQuestion()).choose('Close the Window');
  await vi.waitFor(() => expect(standIn.windows).toHaveLength(0));
  expect(app.exitCode).toBeNull();
  theTray().choose('Open Roomful');
  await settled();
  expect(theWindow().visible).toBe(true);
});

test('one that ended in good order is left alone', async () => {
  await start();
  theWindow().webContents.crash('clean-exit');
  await settled();
  expect(theWindow().webContents.reloads).toBe(0);
});

test('one that does not answer is asked about, until it does', async () => {
  await start();
  const { webContents } = theWindow();
  theWindow().emit('unresponsive');
  await theQuestion();
  theWindow().emit('responsive');
  await settled();
  expect([standIn.messageBoxes.length, webContents.reloads]).toEqual([0, 0]);
  theWindow().emit('unresponsive');
  (await theQuestion()).choose('Load It Again');
  await vi.waitFor(() => expect(webContents.reloads).toBe(1));
});
