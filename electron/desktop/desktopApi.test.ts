import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { ipcChannels } from './ipcChannels.ts';
import { standIn } from './testing/electronStandIn.ts';
import { start, theWindow, world } from './testing/shellHarness.ts';

const ask = async (method: string, params: object): Promise<unknown> => {
  const { sent } = theWindow().webContents;
  const before = sent.length;
  standIn.sendToMain(theWindow().webContents, ipcChannels.toMember, { kind: 'call', id: 1, method, params });
  await vi.waitFor(() => expect(sent.length).toBe(before + 1));
  return sent[before]?.[1];
};

test('are answered by the shell, kept, and there again after a start', async () => {
  await start();
  const first = { autostart: false, notifications: true, updates: false, noUpdates: null };
  expect(await ask('desktop', {})).toEqual({ kind: 'result', id: 1, value: first });
  expect(world.updater.listeners).toBeNull();
  const changed = { ...first, notifications: false, updates: true };
  expect(await ask('changeDesktop', { notifications: false, updates: true })).toMatchObject({ value: changed });
  world.updater.listeners?.onReady('2.0.0');
  expect(standIn.notifications).toEqual([]);

  standIn.reset();
  await start();
  expect(await ask('desktop', {})).toMatchObject({ value: changed });
  expect(world.updater.listeners).not.toBeNull();
  await ask('changeDesktop', { updates: false });
  expect(world.updater.listeners).toBeNull();
});

test('what is not of the contract changes nothing', async () => {
  await start();
  expect(await ask('changeDesktop', { notifications: 'no' })).toMatchObject({ kind: 'error' });
  expect(await ask('changeDesktop', { other: true })).toMatchObject({ kind: 'error' });
});

test.runIf(process.platform === 'linux')('autostart is that of the system', async () => {
  await start();
  expect(await ask('changeDesktop', { autostart: true })).toMatchObject({ value: { autostart: true } });
  expect(await readFile(join(world.home, 'autostart', 'roomful.desktop'), 'utf8')).toContain('--hidden');
});

test('a file that cannot be read counts as not there', async () => {
  await writeFile(join(world.home, 'desktop.json'), '{"notifications": 7');
  await writeFile(join(world.home, 'window.json'), '[]');
  await start();
  expect(await ask('desktop', {})).toMatchObject({ value: { notifications: true, updates: false } });
});

test('a new version is told, and waits for the app to quit', async () => {
  await start();
  await ask('changeDesktop', { updates: true });
  world.updater.listeners?.onReady('2.0.0');
  expect(standIn.notifications.map(({ title }) => title)).toEqual(['Roomful 2.0.0 is here']);
});
