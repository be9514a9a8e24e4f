import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { backendsToTry, LibrariesError, librariesOf, type Machine, thisMachine, unpacked } from './librariesFolder.ts';
import { LLAMA_CPP_COMMIT } from './llamaBuild.ts';
import { addonPath, loadAddon } from './loadAddon.ts';

function machine(changes: Partial<Machine>, files: readonly string[] = []): Machine {
  return {
    platform: 'linux',
    arch: 'x64',
    env: {},
    exists: (path) => files.some((file) => file === path || file.startsWith(path + sep)),
    list: (path) => files.filter((file) => dirname(file) === path).map((file) => file.slice(path.length + 1)),
    ...changes,
  };
}

describe('the variants to try', () => {
  const system32 = (name: string) => join('C:\\Windows', 'System32', name);
  it.each<[string, Machine, string[]]>([
    ['Linux without graphics', machine({}), ['cpu']],
    ['Linux with a display but no render node', machine({}, ['/dev/dri/card0']), ['cpu']],
    ['Linux with a render node', machine({}, ['/dev/dri/renderD128']), ['vulkan', 'cpu']],
    [
      'Linux with NVIDIA',
      machine({}, ['/proc/driver/nvidia/version', '/dev/dri/renderD128']),
      ['cuda', 'vulkan', 'cpu'],
    ],
    ['Apple silicon', machine({ platform: 'darwin', arch: 'arm64' }), ['metal']],
    ['an Intel Mac', machine({ platform: 'darwin' }), ['cpu']],
    ['Windows without drivers', machine({ platform: 'win32' }), ['cpu']],
    ['Windows with Vulkan', machine({ platform: 'win32' }, [system32('vulkan-1.dll')]), ['vulkan', 'cpu']],
    ['Windows with NVIDIA', machine({ platform: 'win32' }, [system32('nvcuda.dll')]), ['cuda', 'cpu']],
    ['what was asked for', machine({ env: { ROOMFUL_BACKEND: 'vulkan' } }), ['vulkan']],
    ['an empty wish', machine({ env: { ROOMFUL_BACKEND: '' } }), ['cpu']],
  ])('on %s', (_, on, expected) => {
    expect(backendsToTry(on)).toEqual(expected);
  });

  it('are none for a wish that is no backend', () => {
    expect(() => backendsToTry(machine({ env: { ROOMFUL_BACKEND: 'gpu' } }))).toThrow(
      /'gpu'.*cpu, vulkan, cuda, metal/,
    );
  });
});

describe('the folder of a variant', () => {
  it('is in the installed package', () => {
    const libraries = librariesOf('cpu', thisMachine);
    expect(libraries?.folder).toMatch(/@node-llama-cpp.*bins/);
    expect(libraries?.fallbackFolder).toBeNull();
  });

  it('is null for a machine that node-llama-cpp has nothing for', () => {
    expect(librariesOf('metal', machine({}))).toBeNull();
    expect(librariesOf('cpu', machine({ platform: 'sunos' as 'linux', arch: 's390x' }))).toBeNull();
  });

  it.runIf(process.platform === 'linux' && process.arch === 'x64')('of CUDA comes with that for older cards', () => {
    expect(librariesOf('cuda', thisMachine)?.fallbackFolder).toMatch(/cuda-ext.*fallback$/);
  });

  it('of a packaged app is outside the archive', () => {
    const inside = join('opt', 'Roomful', 'resources', 'app.asar', 'node_modules', 'x');
    expect(unpacked(inside)).toBe(join('opt', 'Roomful', 'resources', 'app.asar.unpacked', 'node_modules', 'x'));
    expect(unpacked(join('home', 'me', 'roomful'))).toBe(join('home', 'me', 'roomful'));
  });
});

describe('the addon', () => {
  it('is that of ROOMFUL_ADDON where it is set', () => {
    expect(addonPath(machine({ env: { ROOMFUL_ADDON: 'elsewhere.node' } }))).toBe('elsewhere.node');
  });

  it('is missed with the command that builds it', () => {
    expect(() => addonPath(machine({}))).toThrow(LibrariesError);
    expect(() => addonPath(machine({}))).toThrow(/roomful\.node.*npm run build/);
  });

  it('says for every variant why it could not be opened', () => {
    const on = { ...thisMachine, env: { ...process.env, ROOMFUL_BACKEND: 'metal' }, platform: 'linux' as const };
    expect(() => loadAddon(on)).toThrow(/metal: node-llama-cpp's libraries are not installed/);
  });
});

describe('the build', () => {
  it('is the release that node-llama-cpp was made from', () => {
    const folder = join(dirname(createRequire(import.meta.url).resolve('node-llama-cpp')), '..', 'llama');
    const { release } = JSON.parse(readFileSync(join(folder, 'binariesGithubRelease.json'), 'utf8'));
    expect(LLAMA_CPP_COMMIT).toBe(release);
  });
});
