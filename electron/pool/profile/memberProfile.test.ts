import { readFile, stat, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { temporaryFolder } from '../../gguf/testing/temporaryFolder.ts';
import type { HostLauncher } from '../../stage/hostLauncher.ts';
import { nodeLauncher } from '../../stage/nodeLauncher.ts';
import { hasSoftwareVulkan, softwareVulkanEnv } from '../../stage/testing/softwareVulkan.ts';
import type { Detectors } from '../manners/detectors.ts';
import { MemberProfile, type ProfileOptions } from './memberProfile.ts';
import type { Profile } from './profile.ts';

const GIB = 2 ** 30;
const folder = temporaryFolder();
let running: MemberProfile[] = [];
let problems: unknown[] = [];
let environment: NodeJS.ProcessEnv;

beforeEach(async () => {
  await folder.make();
  running = [];
  problems = [];
  environment = { ...process.env };
  process.env.ROOMFUL_BACKEND = 'cpu';
});
afterEach(async () => {
  await Promise.all(running.map((profile) => profile.close()));
  process.env = environment;
  await folder.remove();
});

const quiet: Detectors = { onBattery: async () => false, cpuCelsius: async () => null, gpus: async () => [] };

async function start(options: Partial<ProfileOptions> = {}): Promise<MemberProfile> {
  const profile = await MemberProfile.start({
    home: folder.at('home'),
    launcher: nodeLauncher,
    threads: 1,
    build: 'b',
    measures: false,
    detectors: quiet,
    onProblem: (error) => problems.push(error),
    ...options,
  });
  running.push(profile);
  return profile;
}

/** Counts the processes that are started, and those that have not left again. */
function countingLauncher(): HostLauncher & { started: number; alive: number } {
  const counter = {
    started: 0,
    alive: 0,
    launch: (...[host, listeners]: Parameters<HostLauncher['launch']>) => {
      counter.started += 1;
      counter.alive += 1;
      return nodeLauncher.launch(host, {
        ...listeners,
        onExit: (exit) => {
          counter.alive -= 1;
          listeners.onExit(exit);
        },
      });
    },
  };
  return counter;
}

describe('the profile of this machine', () => {
  test('has its devices and what it shares, and leaves no process behind', async () => {
    const launcher = countingLauncher();
    const { current } = await start({ launcher });
    expect(current).toMatchObject({ backend: 'Cpu', deviceClass: 'cpu', bandwidth: null, paused: [] });
    expect(current.devices).toMatchObject([{ name: 'CPU', shares: true, deviceClass: 'cpu' }]);
    expect(current.memoryBytes).toBeLessThanOrEqual(current.devices[0]?.totalBytes ?? 0);
    expect(launcher).toMatchObject({ started: 1, alive: 0 });
  });

  test('is measured once, in the background, and known from then on', async () => {
    const launcher = countingLauncher();
    const first = await start({ measures: true, launcher });
    const changes: Profile[] = [];
    first.onChange((profile) => changes.push(profile));
    await first.measured();
    const { bandwidth } = first.current;
    expect(bandwidth).toBeGreaterThan(0);
    expect(changes.map((profile) => profile.bandwidth)).toEqual([bandwidth]);
    expect(launcher).toMatchObject({ started: 2, alive: 0 });

    const again = await start({ measures: true, launcher });
    await again.measured();
    expect(again.current.bandwidth).toBe(bandwidth);
    expect(launcher.started).toBe(3);
    const otherBuild = await start({ build: 'another' });
    expect(otherBuild.current.bandwidth).toBeNull();
    expect(problems).toEqual([]);
  });

  test('closes while it is measured, and measures at the next start', async () => {
    const launcher = countingLauncher();
    const profile = await start({ measures: true, launcher });
    await profile.close();
    expect(launcher.alive).toBe(0);
    expect(problems).toEqual([]);
    const again = await start({ measures: true, launcher });
    await again.measured();
    expect(again.current.bandwidth).toBeGreaterThan(0);
  });

  test('does without a device that cannot be measured, and tries it again on another day only', async () => {
    let now = Date.now();
    const clock = { now: () => 0, wall: () => now, after: () => () => {} };
    const launcher: HostLauncher = {
      launch: (host, listeners) => {
        const child = nodeLauncher.launch(host, listeners);
        const isMeasuring = (message: unknown): boolean => JSON.stringify(message).includes('readSpeed');
        return { ...child, send: (message) => (isMeasuring(message) ? child.kill() : child.send(message)) };
      },
    };
    const starting = async (): Promise<MemberProfile> => {
      const profile = await start({ measures: true, launcher, clock });
      await profile.measured();
      return profile;
    };
    const first = await starting();
    expect(first.current.bandwidth).toBeNull();
    expect(problems).toHaveLength(1);
    await starting();
    expect(problems).toHaveLength(1);
    now += 2 * 24 * 3600 * 1000;
    await starting();
    expect(problems).toHaveLength(2);
  });
});

describe('what the owner decides', () => {
  test('an amount for this run comes before the kept one, which a restart remembers', async () => {
    const profile = await start();
    await profile.change({ memoryBytes: GIB });
    expect(profile.current.memoryBytes).toBe(GIB);
    expect((await start()).current.memoryBytes).toBe(GIB);
    const forOneRun = await start({ memoryBytes: 2 * GIB });
    expect([forOneRun.current.memoryBytes, forOneRun.settings.memoryBytes]).toEqual([2 * GIB, 2 * GIB]);
    await forOneRun.change({ paused: false });
    expect(forOneRun.current.memoryBytes).toBe(2 * GIB);
    await forOneRun.change({ memoryBytes: GIB });
    expect([forOneRun.current.memoryBytes, forOneRun.settings.memoryBytes]).toEqual([GIB, GIB]);
    expect((await stat(folder.at('home/sharing.json'))).mode & 0o777).toBe(0o600);
  });

  test('a pause lasts over a restart, until it is ended', async () => {
    const profile = await start();
    const changes: Profile['paused'][] = [];
    profile.onChange(({ paused }) => changes.push(paused));
    await profile.pause();
    expect((await start()).current.paused).toEqual(['owner']);
    await profile.resume();
    expect((await start()).current.paused).toEqual([]);
    expect(changes).toEqual([['owner'], []]);
  });

  test('manners pause besides, and a manner that is switched off does not', async () => {
    const detectors = { ...quiet, onBattery: async () => true };
    const profile = await start({ detectors });
    await profile.pause();
    await vi.waitFor(() => expect(profile.current.paused).toEqual(['owner', 'battery']));
    await profile.change({ manners: { ...profile.settings.manners, battery: { pause: false } } });
    expect(profile.current.paused).toEqual(['owner']);
    const again = await start({ detectors });
    expect(again.settings.manners.battery.pause).toBe(false);
  });

  test.each([
    ['{"memoryBytes": -5}', /memoryBytes/],
    ['{"manners": {"heat": {"cpuCelsius": 900}}}', /manners\.heat\.cpuCelsius/],
    ['no json', /no JSON/],
  ])('settings that cannot be used are named: %s', async (text, message) => {
    await (await start()).pause();
    await writeFile(folder.at('home/sharing.json'), text);
    await expect(start()).rejects.toMatchObject({ kind: 'DamagedFile', message: expect.stringMatching(message) });
  });

  test('a change that is out of range changes nothing', async () => {
    const profile = await start();
    await profile.pause();
    const before = await readFile(folder.at('home/sharing.json'), 'utf8');
    await expect(profile.change({ memoryBytes: -1 })).rejects.toThrow(/memoryBytes/);
    expect(profile.settings.memoryBytes).toBeNull();
    expect(await readFile(folder.at('home/sharing.json'), 'utf8')).toBe(before);
  });
});

test('memory is not looked at again while stages run', async () => {
  const launcher = countingLauncher();
  let serving = true;
  const profile = await start({ launcher, isServing: () => serving });
  await profile.refresh();
  expect(launcher.started).toBe(1);
  serving = false;
  await profile.refresh();
  expect(launcher).toMatchObject({ started: 2, alive: 0 });
});

describe.skipIf(!hasSoftwareVulkan())('with a Vulkan device in software', () => {
  test('its memory is known to be RAM, is lent once, and its speed is measured', async () => {
    Object.assign(process.env, softwareVulkanEnv);
    const card = { name: 'a real card', pciAddress: '0000:01:00.0', totalBytes: 2 * GIB, usedBytes: 2 * GIB };
    const gpus = async () => [{ ...card, busy: 0.9, celsius: 99, programs: null }];
    const profile = await start({ measures: true, detectors: { ...quiet, gpus } });
    await profile.measured();
    const { backend, deviceClass, memoryBytes, hostMemoryBytes, bandwidth, devices, paused } = profile.current;
    expect({ backend, deviceClass, hostMemoryBytes, paused }).toEqual({
      backend: 'Vulkan',
      deviceClass: 'unified',
      hostMemoryBytes: null,
      paused: [],
    });
    expect(devices.map(({ name, shares }) => [name, shares])).toEqual([
      ['Vulkan0', true],
      ['CPU', false],
    ]);
    // The card is another device: what its driver says of its memory does not count here.
    expect(memoryBytes).toBeGreaterThan(0);
    expect(memoryBytes).toBeLessThanOrEqual(devices[0]?.totalBytes ?? 0);
    expect(bandwidth).toBeCloseTo(devices[0]?.bandwidth ?? 0, 0);
    expect(devices[1]?.bandwidth).toBeGreaterThan(0);
    expect(problems).toEqual([]);
  });
});
