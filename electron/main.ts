import { availableParallelism, hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { app } from 'electron';
import { startDesktop } from './desktop/startDesktop.ts';
import { systemSecretStore } from './desktop/systemSecretStore.ts';
import { systemUpdater } from './desktop/systemUpdater.ts';
import { utilityLauncher } from './desktop/utilityLauncher.ts';
import { startMember } from './member.ts';
import { dataFolder } from './pool/dataFolder.ts';

/** The desktop app. */

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const home = dataFolder();

// Not awaited: Electron becomes ready only after this module has been evaluated.
void startDesktop({
  startMember: () =>
    startMember({
      home,
      name: hostname(),
      threads: availableParallelism(),
      launcher: utilityLauncher,
      lan: { multicast: true },
      windowFolder: path('../renderer'),
      secrets: systemSecretStore(home),
      ...(app.isPackaged && { demoModel: join(process.resourcesPath, 'demo', 'demo.gguf') }),
    }),
  preload: path('../preload/preload.cjs'),
  icons: path('../../resources/icons'),
  home,
  updater: systemUpdater(process.resourcesPath),
  args: process.argv.slice(1),
});
