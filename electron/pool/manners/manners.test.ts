import { expect, test } from 'vitest';
import { systemClock } from '../clock.ts';
import type { GpuReading } from '../sensors/gpuReading.ts';
import type { Detectors } from './detectors.ts';
import type { Manner } from './manner.ts';
import { Manners, type MannersOptions } from './manners.ts';
import { mannersSettingsSchema } from './mannersSettings.ts';

const intervalMs = 10_000;
const settings = mannersSettingsSchema.parse({});
const card: GpuReading = {
  name: 'card',
  pciAddress: null,
  totalBytes: null,
  usedBytes: null,
  busy: 0,
  celsius: 60,
  programs: null,
};

/** Manners over sensors that a test turns, on a clock that it moves. */
function manners(options: Partial<MannersOptions> = {}) {
  const world = { onBattery: false, cpuCelsius: 50, gpus: [card], now: 0 };
  const changes: (readonly Manner[])[] = [];
  const problems: unknown[] = [];
  const detectors: Detectors = {
    onBattery: async () => world.onBattery,
    cpuCelsius: async () => world.cpuCelsius,
    gpus: async () => world.gpus,
  };
  const watched = new Manners({
    detectors,
    settings,
    sharedCards: (cards) => cards,
    ownUse: () => ({ pids: new Set(), computed: false }),
    onChange: (paused) => changes.push(paused),
    onProblem: (error) => problems.push(error),
    intervalMs,
    clock: { ...systemClock, now: () => world.now },
    ...options,
  });
  /** Lets time pass, with a reading at every interval. */
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += intervalMs) {
      world.now += intervalMs;
      await watched.check();
    }
  };
  return { watched, world, changes, problems, pass };
}

test('pauses on the battery at once and resumes by itself on the mains', async () => {
  const { world, changes, pass } = manners();
  world.onBattery = true;
  await pass(intervalMs);
  expect(changes).toEqual([['battery']]);
  world.onBattery = false;
  await pass(20_000);
  expect(changes).toEqual([['battery'], []]);
});

test('several reasons stand side by side, and the last to go lets sharing resume', async () => {
  const { watched, world, pass } = manners();
  world.cpuCelsius = 99;
  world.gpus = [{ ...card, busy: 0.9 }];
  await pass(40_000);
  expect(watched.paused).toEqual(['heat', 'gpu']);
  world.cpuCelsius = 60;
  await pass(80_000);
  expect(watched.paused).toEqual(['gpu']);
  world.gpus = [card];
  await pass(80_000);
  expect(watched.paused).toEqual([]);
});

test('a machine that slept is not taken to have been hot meanwhile', async () => {
  const { watched, world, pass } = manners();
  world.cpuCelsius = 99;
  await pass(intervalMs);
  world.now += 3_600_000;
  world.cpuCelsius = 40;
  await pass(intervalMs);
  expect(watched.paused).toEqual([]);
});

test('a manner that is switched off pauses no more, and does not ask its sensor', async () => {
  const { watched, world, changes, problems, pass } = manners({
    detectors: {
      onBattery: async () => true,
      cpuCelsius: async () => 50,
      gpus: () => Promise.reject(new Error('no driver')),
    },
  });
  await pass(intervalMs);
  expect(changes).toEqual([['battery']]);
  // Told once, however often it fails.
  await pass(30_000);
  expect(problems).toHaveLength(1);
  watched.set({ ...settings, battery: { pause: false } });
  expect(changes).toEqual([['battery'], []]);
  await pass(30_000);
  expect(watched.paused).toEqual([]);
  expect(world.now).toBeGreaterThan(0);
});

test('only cards that share are looked at', async () => {
  const { watched, world, pass } = manners({ sharedCards: (cards) => cards.filter(({ name }) => name === 'card') });
  world.gpus = [card, { ...card, name: 'of the desktop', busy: 0.9, celsius: 100 }];
  await pass(60_000);
  expect(watched.paused).toEqual([]);
});

test('start reads at once, and stop ends it', async () => {
  const { watched, world, changes } = manners({ intervalMs: 5 });
  world.onBattery = true;
  await watched.start();
  expect(changes).toEqual([['battery']]);
  watched.stop();
  world.onBattery = false;
  world.now += 100_000;
  await watched.check();
  expect(changes).toEqual([['battery']]);
});
