import { describe, expect, test } from 'vitest';
import type { ModelShape } from '../../planner/modelShape.ts';
import { plan } from '../../planner/plan.ts';
import type { Device } from '../../stage/engineClient.ts';
import type { GpuReading } from '../sensors/gpuReading.ts';
import { describeDevices } from './describeDevices.ts';
import { cardsThatShare } from './joinCards.ts';
import { offerOf } from './offerOf.ts';
import { type Profile, plannerFacts, profileSchema } from './profile.ts';
import { profileOf } from './profileOf.ts';

const GIB = 2 ** 30;
const ram = { totalBytes: 32 * GIB, availableBytes: 24 * GIB };
const cpu: Device = {
  name: 'CPU',
  description: 'a processor',
  backend: 'CPU',
  pciAddress: null,
  kind: 'cpu',
  totalBytes: 32 * GIB,
  freeBytes: 32 * GIB,
};
const gpu = (name: string, pciAddress: string | null, change: Partial<Device> = {}): Device => ({
  name,
  description: 'NVIDIA GeForce RTX 4090',
  backend: 'CUDA',
  pciAddress,
  kind: 'gpu',
  totalBytes: 24 * GIB,
  freeBytes: 23 * GIB,
  ...change,
});
const card = (pciAddress: string | null, usedBytes: number, totalBytes = 24 * GIB): GpuReading => ({
  name: 'card',
  pciAddress,
  totalBytes,
  usedBytes,
  busy: 0,
  celsius: null,
  programs: null,
});
const unmeasured = () => null;
const [one, two] = ['0000:01:00.0', '0000:c1:00.0'];

/** The profile of a machine with these devices, and the CPU. */
function profile(devices: Device[], cards: GpuReading[] = [], wanted: number | null = null): Profile {
  return profileOf(describeDevices([...devices, cpu], cards, ram, unmeasured), wanted, [], null);
}

describe('the memory of devices', () => {
  test('two cards that are alike get each what its own driver says, in whatever order they come', () => {
    const cards = [card(two, 20 * GIB), card(one, 2 * GIB)];
    const { devices, memoryBytes } = profile([gpu('CUDA0', one), gpu('CUDA1', two)], cards);
    expect(devices.map(({ freeBytes }) => freeBytes / GIB)).toEqual([22, 4, 24]);
    expect(memoryBytes).toBe(26 * GIB);
  });

  test('a driver that sees the whole card says nothing of a part of it', () => {
    const { devices } = profile(
      [gpu('CUDA0', one, { totalBytes: 10 * GIB, freeBytes: 9 * GIB })],
      [card(one, 23 * GIB)],
    );
    expect(devices[0]).toMatchObject({ totalBytes: 10 * GIB, freeBytes: 9 * GIB });
  });

  test('a device without an address is joined only when it can be but one', () => {
    const addressless = gpu('Vulkan0', null);
    expect(profile([addressless], [card(one, 20 * GIB)]).memoryBytes).toBe(4 * GIB);
    expect(profile([addressless], [card(one, 20 * GIB), card(two, 0)]).memoryBytes).toBe(23 * GIB);
    expect(profile([gpu('Vulkan1', one), addressless], [card(one, 20 * GIB)]).devices[1]?.freeBytes).toBe(23 * GIB);
  });

  test('one card that two backends list is lent once', () => {
    const { devices, memoryBytes } = profile([gpu('CUDA0', one), gpu('Vulkan0', one, { backend: 'Vulkan' })]);
    expect(devices.map(({ shares }) => shares)).toEqual([true, false, false]);
    expect(memoryBytes).toBe(23 * GIB);
  });
});

describe('what a machine is', () => {
  test('a graphics card shares before the integrated one, and plain RAM besides', () => {
    const integrated = gpu('Vulkan1', two, { kind: 'integrated', backend: 'Vulkan' });
    expect(profile([integrated, gpu('Vulkan0', one, { backend: 'Vulkan' })])).toMatchObject({
      backend: 'Vulkan',
      deviceClass: 'gpu',
      memoryBytes: 23 * GIB,
      // An eighth of 32 GiB stays the owner's.
      hostMemoryBytes: 20 * GIB,
    });
  });

  test('unified memory is known as such, and bounded by the RAM that is left', () => {
    const metal = gpu('MTL0', null, {
      backend: 'MTL',
      description: 'Apple M3',
      totalBytes: 24 * GIB,
      freeBytes: 24 * GIB,
    });
    const facts = { backend: 'Metal', deviceClass: 'unified', memoryBytes: 20 * GIB, hostMemoryBytes: null };
    expect(profile([metal])).toMatchObject(facts);
    const integrated = gpu('Vulkan0', one, {
      backend: 'Vulkan',
      kind: 'integrated',
      totalBytes: 40 * GIB,
      freeBytes: 40 * GIB,
    });
    // What its driver calls memory is the part that the firmware has set aside.
    expect(profile([integrated], [card(one, 0, 0.5 * GIB)])).toMatchObject({ ...facts, backend: 'Vulkan' });
  });

  test('a machine without a graphics card shares its RAM', () => {
    expect(profile([])).toMatchObject({
      backend: 'Cpu',
      deviceClass: 'cpu',
      memoryBytes: 20 * GIB,
      hostMemoryBytes: null,
    });
  });

  test('an accelerator is no device that shares', () => {
    expect(profile([{ ...cpu, name: 'BLAS', backend: 'BLAS', kind: 'accelerator' }]).devices).toHaveLength(1);
  });

  test('speeds of several devices are weighed by the layers that each gets', () => {
    const speeds = new Map([
      ['CUDA0', 1000e9],
      ['CUDA1', 500e9],
      ['CPU', 50e9],
    ]);
    const devices = [gpu('CUDA0', one, { totalBytes: 20 * GIB }), gpu('CUDA1', two, { totalBytes: 10 * GIB }), cpu];
    const measured = describeDevices(devices, [], ram, ({ name }) => speeds.get(name) ?? null);
    expect(profileOf(measured, null, [], null)).toMatchObject({ bandwidth: 750e9, hostBandwidth: 50e9 });
    const half = describeDevices(devices, [], ram, ({ name }) => (name === 'CUDA1' ? null : 1e9));
    expect(profileOf(half, null, [], null).bandwidth).toBeNull();
  });
});

describe('what is lent', () => {
  const devices = describeDevices([gpu('CUDA0', one), cpu], [], ram, unmeasured);
  const withFree = (freeBytes: number) => describeDevices([gpu('CUDA0', one, { freeBytes }), cpu], [], ram, unmeasured);

  test('is what the owner wants, up to all that there is', () => {
    expect(offerOf(devices, 5 * GIB).memoryBytes).toBe(5 * GIB);
    expect(offerOf(devices, 500 * GIB).memoryBytes).toBe(24 * GIB);
    expect(profile([], [], 500 * GIB).memoryBytes).toBe(32 * GIB);
  });

  test('stays as it is while little changes', () => {
    const before = offerOf(devices, null);
    expect(offerOf(withFree(22 * GIB), null, before).memoryBytes).toBe(23 * GIB);
    expect(offerOf(withFree(21 * GIB), null, before).memoryBytes).toBe(21 * GIB);
    // What the owner wants counts at once.
    expect(offerOf(devices, 22 * GIB, before).memoryBytes).toBe(22 * GIB);
  });

  test('is never less than what the planner takes', () => {
    const full = { ...ram, availableBytes: GIB };
    const nothing = profileOf(describeDevices([cpu], [], full, unmeasured), null, [], null);
    expect(nothing.memoryBytes).toBe(1);
    expect(profileSchema.parse(nothing)).toEqual(nothing);
  });
});

test('the planner takes the facts as they are', () => {
  const facts = plannerFacts(profile([gpu('CUDA0', one)]));
  const layer = { weightBytes: GIB, kvBytesPerToken: 1024, slidingWindow: null };
  const model: ModelShape = {
    name: 'm',
    architecture: 'llama',
    unsplittableReason: null,
    layers: Array.from({ length: 10 }, () => layer),
    cutPoints: [5],
    embeddingBytes: GIB,
    outputBytes: GIB,
    sharedBytes: 0,
    hiddenSize: 4096,
    vocabularySize: 32_000,
    contextLength: 4096,
  };
  const member = { ...facts, address: '10.0.0.1:1', build: 'b' };
  expect(plan([member], model, {}).fit).toBe('RunLocal');
  expect(plan([{ ...member, paused: true }], model, {}).fit).toBe('DoesNotFit');
});

test('cards that share are known by their address, and software devices have none', () => {
  const cards = [card(one, 0), card(two, 0)];
  const shared = (devices: Device[]) =>
    cardsThatShare(describeDevices([...devices, cpu], cards, ram, unmeasured), cards).map(
      ({ pciAddress }) => pciAddress,
    );
  expect(shared([gpu('CUDA1', two), gpu('CUDA0', one)])).toEqual([two, one]);
  expect(shared([gpu('CUDA1', two), gpu('Vulkan0', one, { kind: 'integrated' })])).toEqual([two]);
  const software = gpu('Vulkan0', null, { description: 'llvmpipe (LLVM 15.0.6, 256 bits)', backend: 'Vulkan' });
  expect(cardsThatShare(describeDevices([software, cpu], [card(one, 0)], ram, unmeasured), [card(one, 0)])).toEqual([]);
  expect(shared([])).toEqual([]);
});
