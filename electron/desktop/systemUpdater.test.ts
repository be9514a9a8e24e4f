import { EventEmitter } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemUpdater } from './systemUpdater.ts';
import { app, standIn } from './testing/electronStandIn.ts';

const module = vi.hoisted(() => ({ loaded: 0, looks: 0, autoUpdater: null as EventEmitter | null }));

// The real one wants a packaged app and a server.
vi.mock('electron-updater', () => {
  module.loaded += 1;
  module.autoUpdater = Object.assign(new EventEmitter(), {
    checkForUpdates: async () => {
      module.looks += 1;
    },
  });
  return { default: { autoUpdater: module.autoUpdater } };
});

let resources: string;
beforeEach(async () => {
  standIn.reset();
  resources = await mkdtemp(join(tmpdir(), 'roomful-updates-'));
});
afterEach(() => rm(resources, { recursive: true, force: true }));

test('a checkout, and a build without a feed, say why nothing can be looked for', () => {
  expect(systemUpdater(resources).unavailable).toMatch(/checkout/);
  app.isPackaged = true;
  expect(systemUpdater(resources).unavailable).toMatch(/no place/);
});

test('nothing is loaded before it is wanted; then a new version is told', async () => {
  app.isPackaged = true;
  await writeFile(join(resources, 'app-update.yml'), '');
  const updater = systemUpdater(resources);
  expect([updater.unavailable, module.loaded]).toEqual([null, 0]);
  const ready: string[] = [];
  const problems: unknown[] = [];
  updater.start({ onReady: (version) => ready.push(version), onProblem: (cause) => problems.push(cause) });
  await vi.waitFor(() => expect(module.looks).toBe(1));
  module.autoUpdater?.emit('update-downloaded', { version: '2.0.0' });
  module.autoUpdater?.emit('error', new Error('offline'));
  expect(ready).toEqual(['2.0.0']);
  expect(problems).toHaveLength(1);
  updater.stop();
});
