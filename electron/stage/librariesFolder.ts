import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';

export type Backend = 'cpu' | 'vulkan' | 'cuda' | 'metal';

const backends: readonly Backend[] = ['cpu', 'vulkan', 'cuda', 'metal'];

/** Where the prebuilt libraries of one variant of node-llama-cpp lie. */
export interface Libraries {
  backend: Backend;
  folder: string;
  /** Backends to load where those of `folder` find no device: CUDA builds for older cards. */
  fallbackFolder: string | null;
}

/** What the choice of a variant looks at, so that it can be tested for any machine. */
export interface Machine {
  platform: NodeJS.Platform;
  arch: string;
  env: Readonly<Record<string, string | undefined>>;
  exists(path: string): boolean;
  list(path: string): string[];
}

export const thisMachine: Machine = {
  platform: process.platform,
  arch: process.arch,
  env: process.env,
  exists: existsSync,
  list: (path) => (existsSync(path) ? readdirSync(path) : []),
};

export class LibrariesError extends Error {
  override name = 'LibrariesError';
}

/**
 * The variants to try, best first. `ROOMFUL_BACKEND` (cpu, vulkan, cuda or metal) leaves that one alone; otherwise it is
 * Metal on Apple silicon, CUDA where the NVIDIA driver is installed, Vulkan where the system has a graphics device, and
 * always the CPU at last. Throws a `LibrariesError` for any other value.
 */
export function backendsToTry(machine: Machine): Backend[] {
  const wanted = machine.env.ROOMFUL_BACKEND;
  if (wanted !== undefined && wanted !== '') {
    const chosen = backends.find((backend) => backend === wanted);
    if (chosen === undefined) {
      throw new LibrariesError(`ROOMFUL_BACKEND is '${wanted}'; set it to one of ${backends.join(', ')}, or unset it.`);
    }
    return [chosen];
  }
  if (machine.platform === 'darwin') return machine.arch === 'arm64' ? ['metal'] : ['cpu'];
  const found: Backend[] = [];
  if (machine.platform === 'win32') {
    const system = join(machine.env.SystemRoot ?? 'C:\\Windows', 'System32');
    if (machine.exists(join(system, 'nvcuda.dll'))) found.push('cuda');
    if (machine.exists(join(system, 'vulkan-1.dll'))) found.push('vulkan');
  } else {
    if (machine.exists('/proc/driver/nvidia/version')) found.push('cuda');
    if (machine.list('/dev/dri').some((name) => name.startsWith('renderD'))) found.push('vulkan');
  }
  return [...found, 'cpu'];
}

/**
 * The folder of a variant's libraries, in node_modules or in the unpacked part of a packaged app; null where
 * node-llama-cpp has none for this machine or it is not installed.
 */
export function librariesOf(backend: Backend, machine: Machine): Libraries | null {
  const name = variantName(backend, machine);
  const folder = binariesFolder(name, name);
  if (folder === null || !machine.exists(folder)) return null;
  const extra = backend === 'cuda' ? binariesFolder(`${name}-ext`, name) : null;
  const fallback = extra === null ? null : join(extra, 'fallback');
  return { backend, folder, fallbackFolder: fallback !== null && machine.exists(fallback) ? fallback : null };
}

/** The name of node-llama-cpp's package for a variant, which is also that of its folder. */
function variantName(backend: Backend, { platform, arch }: Machine): string {
  const system = platform === 'win32' ? 'win' : platform === 'darwin' ? 'mac' : 'linux';
  const processor = arch === 'arm' ? 'armv7l' : arch;
  return `${system}-${processor}${backend === 'cpu' ? '' : `-${backend}`}`;
}

function binariesFolder(packageName: string, variant: string): string | null {
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(`@node-llama-cpp/${packageName}`);
  } catch {
    return null;
  }
  return unpacked(join(dirname(dirname(entry)), 'bins', variant));
}

/** Where a file of a packaged app really lies: the system's loader cannot read inside an asar archive. */
export function unpacked(path: string): string {
  return path.replace(`app.asar${sep}`, `app.asar.unpacked${sep}`);
}
