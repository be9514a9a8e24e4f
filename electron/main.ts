import { availableParallelism, hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { startDesktop } from './desktop/startDesktop.ts';
import { systemSecretStore } from './desktop/systemSecretStore.ts';
import { utilityLauncher } from './desktop/utilityLauncher.ts';
import { startMember } from './member.ts';
import { dataFolder } from './pool/dataFolder.ts';

/** The desktop app. */

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

// Not awaited: Electron becomes ready only after this module has been evaluated.
void startDesktop({
  startMember: () =>
    startMember({
      home: dataFolder(),
      name: hostname(),
      threads: availableParallelism(),
      launcher: utilityLauncher,
      lan: { multicast: true },
      windowFolder: path('../renderer'),
      secrets: systemSecretStore(dataFolder()),
    }),
  preload: path('../preload/preload.cjs'),
  icons: path('../../resources/icons'),
});
