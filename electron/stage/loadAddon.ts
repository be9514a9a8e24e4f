import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  backendsToTry,
  type Libraries,
  LibrariesError,
  librariesOf,
  type Machine,
  thisMachine,
  unpacked,
} from './librariesFolder.ts';
import type { NativeAddon } from './nativeAddon.ts';
import { nativeErrorCode } from './nativeErrorCode.ts';

export interface LoadedAddon {
  addon: NativeAddon;
  /** The variant of llama.cpp that it opened. */
  libraries: Libraries;
}

/**
 * Loads the addon into this process and opens the best variant of llama.cpp that this machine can load (see
 * `backendsToTry`). Only for processes that may die of a driver: stage and engine hosts. Throws a `LibrariesError` that
 * says what to do when the addon or every variant is missing.
 */
export function loadAddon(machine: Machine = thisMachine): LoadedAddon {
  const addon: NativeAddon = createRequire(import.meta.url)(addonPath(machine));
  const problems: string[] = [];
  let cause: unknown;
  for (const backend of backendsToTry(machine)) {
    const libraries = librariesOf(backend, machine);
    if (libraries === null) {
      problems.push(`${backend}: node-llama-cpp's libraries are not installed`);
      continue;
    }
    try {
      addon.open(libraries.folder, libraries.fallbackFolder);
      return { addon, libraries };
    } catch (error) {
      if (nativeErrorCode(error) !== 'LibraryMissing') throw error;
      problems.push(`${backend}: ${(error as Error).message}`);
      cause = error;
    }
  }
  throw new LibrariesError(`llama.cpp could not be loaded. ${problems.join('; ')}.`, { cause });
}

/**
 * The compiled addon: `ROOMFUL_ADDON` where that is set, else that of the build in a checkout, else that in the
 * resources of a packaged app.
 */
export function addonPath(machine: Machine = thisMachine): string {
  const wanted = machine.env.ROOMFUL_ADDON;
  if (wanted !== undefined && wanted !== '') return wanted;
  const candidates = addonCandidates();
  const found = candidates.find((path) => machine.exists(path));
  if (found !== undefined) return found;
  throw new LibrariesError(`The native addon is missing (${candidates.join(', ')}); build it with 'npm run build'.`);
}

function addonCandidates(): string[] {
  const root = packageRoot();
  const built = unpacked(join(root, 'build', 'native', 'roomful.node'));
  const resources = 'resourcesPath' in process ? process.resourcesPath : undefined;
  return typeof resources === 'string' ? [built, join(resources, 'native', 'roomful.node')] : [built];
}

/** The folder of package.json, above this file in electron/ or in dist/electron/. */
function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
