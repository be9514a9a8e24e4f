import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemAutostart } from './autostart.ts';
import { autostartEntry } from './autostartEntry.ts';
import { app, standIn } from './testing/electronStandIn.ts';

let config: string;
beforeEach(async () => {
  standIn.reset();
  config = await mkdtemp(join(tmpdir(), 'roomful-autostart-'));
});
afterEach(() => rm(config, { recursive: true, force: true }));

test.each(['darwin', 'win32', 'linux'] as const)('on %s it can be switched on and off', async (platform) => {
  const autostart = systemAutostart(platform, { XDG_CONFIG_HOME: config });
  expect(await autostart.isOn()).toBe(false);
  await autostart.set(true);
  await autostart.set(true);
  expect(await autostart.isOn()).toBe(true);
  await autostart.set(false);
  await autostart.set(false);
  expect(await autostart.isOn()).toBe(false);
});

test('Windows starts the program without a window', async () => {
  await systemAutostart('win32', {}).set(true);
  expect([...app.loginItems]).toEqual([`${process.execPath} /app --hidden`]);
});

test('a Linux desktop starts the AppImage, not the place where it is mounted, and may switch the entry off', async () => {
  app.isPackaged = true;
  const autostart = systemAutostart('linux', {
    XDG_CONFIG_HOME: config,
    APPIMAGE: '/home/me/My Apps/Roomful.AppImage',
  });
  await autostart.set(true);
  const path = join(config, 'autostart', 'roomful.desktop');
  const entry = await readFile(path, 'utf8');
  expect(entry).toContain('\nExec="/home/me/My Apps/Roomful.AppImage" "--hidden"\n');
  await writeFile(path, entry.replace('enabled=true', 'enabled=false'));
  expect(await autostart.isOn()).toBe(false);
});

test('what is special in Exec is escaped', () => {
  expect(autostartEntry(['/a"b$c`d\\e%f'])).toContain('Exec="/a\\\\"b\\\\$c\\\\`d\\\\\\\\e%%f"');
});
