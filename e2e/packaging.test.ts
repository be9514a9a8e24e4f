import { spawnSync } from 'node:child_process';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { getConfig, validateConfiguration } from 'app-builder-lib/out/util/config/config.js';
import { DebugLogger } from 'builder-util';
import { Arch, build, type Configuration, Platform } from 'electron-builder';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SERVICE_TYPE } from '../electron/pool/discovery/announcement.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const configuration = (): Promise<Configuration> => getConfig(root, 'electron-builder.yml', null);

test("electron-builder's own validator accepts the configuration, and only it", async () => {
  const config = await configuration();
  await validateConfiguration(config, new DebugLogger(false));
  const broken: object = { ...config, linux: { ...config.linux, icons: 'misspelt' } };
  await expect(validateConfiguration(broken, new DebugLogger(false))).rejects.toThrow('configuration.linux');
});

test('the icons of all three systems are there, in every size', async () => {
  const { mac, win, linux } = await configuration();
  const bytesOf = (icon: unknown) => readFileSync(join(root, String(icon)));
  expect(bytesOf(mac?.icon).toString('latin1', 0, 4)).toBe('icns');
  expect(bytesOf(mac?.icon).readUInt32BE(4)).toBe(bytesOf(mac?.icon).length);
  expect(bytesOf(win?.icon).readUInt16LE(4)).toBe(7);
  for (const size of [16, 24, 32, 48, 64, 128, 256, 512, 1024]) {
    const png = bytesOf(join(String(linux?.icon), `${size}x${size}.png`));
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([size, size]);
  }
});

const trays = ['NoPool', 'Idle', 'Serving', 'Working', 'Problem'];

test('each state of the tray has its picture, plain and as a template, also for dense displays', () => {
  const plain = trays.map((state) =>
    readFileSync(join(root, 'resources', 'icons', `tray${state}.png`)).toString('hex'),
  );
  expect(new Set(plain).size).toBe(trays.length);
  for (const state of trays) {
    for (const [name, size] of [
      [`tray${state}`, 24],
      [`tray${state}Template`, 16],
    ] as const) {
      for (const [suffix, scale] of [
        ['', 1],
        ['@2x', 2],
      ] as const) {
        const png = readFileSync(join(root, 'resources', 'icons', `${name}${suffix}.png`));
        expect([name, png.readUInt32BE(16)]).toEqual([name, size * scale]);
      }
    }
  }
});

describe('each system is told what the app needs of it', () => {
  test('all: models and invites open with it, the demo model comes along, libraries lie outside the archive', async () => {
    const { fileAssociations, protocols, extraResources, asarUnpack } = await configuration();
    expect(fileAssociations).toMatchObject([{ ext: 'gguf' }]);
    expect(protocols).toMatchObject([{ schemes: ['roomful'] }]);
    expect(extraResources).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ to: 'demo' }),
        expect.objectContaining({ to: 'native/roomful.node' }),
      ]),
    );
    expect(asarUnpack).toEqual(['node_modules/@node-llama-cpp/*/bins/**']);
  });

  test('macOS: the local network, Bonjour, libraries of others; neither camera nor microphone', async () => {
    const { mac } = await configuration();
    const arch = ['arm64', 'x64'];
    // An update is installed from the zip.
    expect(mac?.target).toEqual([
      { target: 'dmg', arch },
      { target: 'zip', arch },
    ]);
    expect(mac?.extendInfo).toMatchObject({
      NSLocalNetworkUsageDescription: expect.stringMatching(/local network/),
      NSBonjourServices: ['_roomful._tcp'],
    });
    expect(mac).toMatchObject({ hardenedRuntime: true, entitlementsInherit: mac?.entitlements });
    const entitlements = readFileSync(join(root, String(mac?.entitlements)), 'utf8');
    const keys = [...entitlements.matchAll(/<key>([^<]*)<\/key>\s*(?:<!--[^>]*-->\s*)?<true\/>/g)].map(
      ([, key]) => key,
    );
    expect(keys).toEqual([
      'com.apple.security.cs.allow-jit',
      'com.apple.security.cs.allow-unsigned-executable-memory',
      'com.apple.security.cs.disable-library-validation',
    ]);
    expect(entitlements.match(/<key>/g)).toHaveLength(keys.length);
  });

  test('macOS asks for the service that the discovery announces', async () => {
    const { mac } = await configuration();
    const [service] = mac?.extendInfo?.NSBonjourServices ?? [];
    expect(service).toBe(`_${SERVICE_TYPE}._tcp`);
  });

  test('Windows: a rule of the firewall and the links of invites, both gone with the app', async () => {
    const { win, nsis, directories } = await configuration();
    expect(win?.target).toEqual([{ target: 'nsis', arch: ['x64'] }]);
    expect(nsis).toMatchObject({ perMachine: true });
    expect(nsis?.include?.startsWith(`${directories?.buildResources}/`)).toBe(true);
    const script = readFileSync(join(root, String(nsis?.include)), 'utf8');
    const [, install = '', uninstall = ''] = script.split('!macro custom');
    expect(install).toMatch(/^Install\n/);
    expect(install).toMatch(
      /netsh advfirewall firewall add rule .*program="\$INSTDIR\\Roomful\.exe" profile=private,domain/,
    );
    expect(install).toContain(`"Software\\Classes\\roomful" "URL Protocol"`);
    expect(uninstall).toMatch(/^UnInstall\n/);
    expect(uninstall).toContain('netsh advfirewall firewall delete rule');
    expect(uninstall).toContain('DeleteRegKey SHCTX "Software\\Classes\\roomful"');
    expect(script.match(/!macroend/g)).toHaveLength(2);
  });

  test('Linux: an AppImage and a package', async () => {
    const { linux } = await configuration();
    expect(linux?.target).toEqual(['AppImage', 'deb']);
  });
});

const packs =
  process.platform === 'linux' && process.arch === 'x64' && !lstatSync(join(root, 'node_modules')).isSymbolicLink();
if (!packs) console.warn('SKIPPED: packing is tried on Linux x64, in a checkout with a node_modules of its own.');

/** Paths below `folder`, directories left out. */
const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => lstatSync(join(folder, name)).isFile());

/** Packs for Linux around an empty Electron, without the CUDA libraries (half a gigabyte). */
describe.skipIf(!packs)('the packed app', () => {
  let folder: string;
  let resources: string;
  /** Every file of the archive, with those that lie beside it. */
  let files: string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roomful-packed-'));
    const electronDist = join(folder, 'electron');
    await mkdir(join(electronDist, 'resources'), { recursive: true });
    await writeFile(join(electronDist, 'electron'), '');
    await chmod(join(electronDist, 'electron'), 0o755);
    await build({
      projectDir: root,
      targets: Platform.LINUX.createTarget('dir', Arch.x64),
      publish: 'never',
      config: {
        extends: join(root, 'electron-builder.yml'),
        electronDist,
        electronVersion: '45.5.0',
        directories: { output: join(folder, 'out') },
        files: ['!node_modules/@node-llama-cpp/*-cuda*/**'],
      },
    });
    resources = join(folder, 'out', 'linux-unpacked', 'resources');
    // Unpacked under the archive's own name, so that plain Node finds every path where Electron does.
    await rename(join(resources, 'app.asar'), join(folder, 'app.asar'));
    await rename(join(resources, 'app.asar.unpacked'), join(folder, 'app.asar.unpacked'));
    const asar = join(root, 'node_modules', '.bin', 'asar');
    const extracted = spawnSync(asar, ['extract', join(folder, 'app.asar'), join(resources, 'app.asar')], {
      encoding: 'utf8',
    });
    expect(extracted.status, extracted.stderr).toBe(0);
    await rename(join(folder, 'app.asar.unpacked'), join(resources, 'app.asar.unpacked'));
    files = filesBelow(join(resources, 'app.asar'));
    await mkdir(join(root, 'test-results'), { recursive: true });
    await writeFile(join(root, 'test-results', 'packed-files.txt'), `${[...files, ...beside()].sort().join('\n')}\n`);
  }, 180_000);

  /** Files that lie beside the archive, with those that were unpacked. */
  const beside = () => filesBelow(resources).filter((name) => !name.startsWith('app.asar/'));

  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('holds all that was compiled and bundled, and nothing of the sources', async () => {
    const compiled = ['electron', 'preload', 'renderer']
      .flatMap((part) => filesBelow(join(root, 'dist', part)).map((name) => join('dist', part, name)))
      .filter((name) => !name.endsWith('.map') && !name.includes('/testing/'));
    expect(compiled.length).toBeGreaterThan(100);
    expect(compiled.filter((name) => !files.includes(name))).toEqual([]);
    const own = files.filter((name) => !name.startsWith('node_modules'));
    const wanted =
      /^(dist\/(electron|preload|renderer)\/.*|resources\/icons\/[\w@]+\.png|resources\/models\.json|package\.json)$/;
    expect(own.filter((name) => !wanted.test(name))).toEqual([]);
    expect(
      files.filter((name) => /\.(map|bundle|gguf|[cm]?tsx?|(spec|test)\.[cm]?js|tsbuildinfo)$/.test(name)),
    ).toEqual([]);
    expect(own.filter((name) => name.includes('/testing/'))).toEqual([]);
  });

  test('holds nothing secret, and beside the archive only what is named', () => {
    const secret = /(^|\/)(\.env(\..*)?|\.npmrc|\.netrc|id_[a-z0-9]+|local-token|.*\.(pem|key|p12|pfx|p8|keychain))$/i;
    expect([...files, ...beside()].filter((name) => secret.test(name))).toEqual([]);
    // electron-builder unpacks packages whole where they hold libraries.
    const named =
      /^(LICENSE|native\/roomful\.node|demo\/[\w-]+\.gguf|app\.asar\.unpacked\/node_modules\/@(node-llama-cpp|reflink)\/[\w-]+\/.*)$/;
    expect(beside().filter((name) => !named.test(name))).toEqual([]);
  });

  test('holds the libraries of this system and processor only, outside the archive', async () => {
    const variants = await readdir(join(resources, 'app.asar.unpacked', 'node_modules', '@node-llama-cpp'));
    expect(variants).toContain('linux-x64');
    expect(variants.filter((name) => !/^linux-x64(-|$)/.test(name))).toEqual([]);
    expect(await readdir(join(resources, 'demo'))).toEqual(expect.arrayContaining(['demo.gguf']));
  });

  test('finds its addon and the libraries there, and every package that it imports', async () => {
    for (const name of await readdir(join(resources, 'app.asar', 'node_modules', '@node-llama-cpp'))) {
      await rm(join(resources, 'app.asar', 'node_modules', '@node-llama-cpp', name, 'bins'), {
        recursive: true,
        force: true,
      });
    }
    const moduleAt = (name: string) => pathToFileURL(join(resources, 'app.asar', 'dist', 'electron', name)).href;
    const script = `
      process.resourcesPath = ${JSON.stringify(resources)};
      const { loadAddon, addonPath } = await import(${JSON.stringify(moduleAt('stage/loadAddon.js'))});
      const { libraries, addon } = loadAddon();
      await import(${JSON.stringify(moduleAt('member.js'))});
      console.log(JSON.stringify({ addon: addonPath(), folder: libraries.folder, devices: addon.devices().length }));
      process.exit(0);`;
    const env = { ...process.env, ROOMFUL_BACKEND: 'cpu', ROOMFUL_ADDON: '' };
    const run = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: folder,
      encoding: 'utf8',
      env,
    });
    expect(run.status, run.stderr).toBe(0);
    const found: { addon: string; folder: string; devices: number } = JSON.parse(run.stdout);
    expect(found.addon).toBe(join(resources, 'native', 'roomful.node'));
    expect(found.folder.startsWith(join(resources, 'app.asar.unpacked'))).toBe(true);
    expect(found.devices).toBeGreaterThan(0);
  });
});
