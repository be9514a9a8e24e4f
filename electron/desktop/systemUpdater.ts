import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { app } from 'electron';
import type { AppUpdater } from 'electron-updater';
import type { UpdateListeners, Updater } from './updater.ts';

const EVERY_MS = 6 * 60 * 60_000;

/**
 * Updates by electron-updater, from where the installer says (`app-update.yml`, which electron-builder writes when it
 * publishes). Nothing is asked before `start`.
 */
export function systemUpdater(resources: string): Updater {
  let timer: NodeJS.Timeout | undefined;
  let stopped = true;
  return {
    unavailable: unavailable(resources),
    start(listeners) {
      stopped = false;
      clearInterval(timer);
      const look = () => {
        loadUpdater(listeners)
          // Where the package came from a package manager, there is nothing to check.
          .then((updater) => (stopped ? null : updater.checkForUpdates()))
          .catch(listeners.onProblem);
      };
      look();
      timer = setInterval(look, EVERY_MS);
    },
    stop() {
      stopped = true;
      clearInterval(timer);
    },
  };
}

function unavailable(resources: string): string | null {
  if (!app.isPackaged) return 'Roomful runs from a checkout; update that.';
  if (!existsSync(join(resources, 'app-update.yml'))) return 'This build names no place where new versions would lie.';
  return null;
}

const listening = new WeakSet<AppUpdater>();

/** Loaded only when it is wanted, because it looks around as soon as it is. */
async function loadUpdater({ onReady, onProblem }: UpdateListeners): Promise<AppUpdater> {
  const { default: module } = await import('electron-updater');
  const updater = module.autoUpdater;
  if (listening.has(updater)) return updater;
  listening.add(updater);
  updater.autoDownload = true;
  updater.autoInstallOnAppQuit = true;
  updater.on('update-downloaded', ({ version }) => onReady(version));
  updater.on('error', onProblem);
  return updater;
}
