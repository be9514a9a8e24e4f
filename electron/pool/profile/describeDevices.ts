import { backendOrCpu } from '../../planner/backend.ts';
import type { DeviceClass } from '../../planner/member.ts';
import type { Device } from '../../stage/engineClient.ts';
import type { GpuReading } from '../sensors/gpuReading.ts';
import type { MachineMemory } from '../sensors/readMachineMemory.ts';
import { isSoftware } from './isSoftware.ts';
import { joinCards } from './joinCards.ts';
import type { DeviceFacts } from './profile.ts';

/** A driver's total within this part of the backend's is that of the same memory, not of a card that was partitioned. */
const SAME_MEMORY = 0.1;

/**
 * The devices of this machine, from what ggml's backends, the drivers and the system say of them. Memory that lies in RAM
 * is counted as such, whatever the backend calls it; accelerators without memory of their own are left out.
 */
export function describeDevices(
  found: readonly Device[],
  cards: readonly GpuReading[],
  ram: MachineMemory,
  bandwidthOf: (device: Device) => number | null,
): DeviceFacts[] {
  const devices = found.filter(({ kind }) => kind !== 'accelerator');
  const sharing = devicesThatShare(devices);
  const onCards = devices.filter((device) => device.kind !== 'cpu' && !isSoftware(device));
  const joined = joinCards(onCards, cards);
  return devices.map((device) => {
    const deviceClass = classOf(device);
    return {
      name: device.name,
      description: device.description,
      backend: backendOrCpu(device.backend),
      pciAddress: device.pciAddress,
      deviceClass,
      ...memoryOf(device, deviceClass, joined.get(device) ?? null, ram),
      shares: sharing.includes(device),
      bandwidth: bandwidthOf(device),
    };
  });
}

function classOf(device: Device): DeviceClass {
  if (device.kind === 'cpu') return 'cpu';
  const inRam = device.kind === 'integrated' || backendOrCpu(device.backend) === 'Metal' || isSoftware(device);
  return inRam ? 'unified' : 'gpu';
}

/**
 * The devices that llama.cpp takes for a model when none is named (`llama_prepare_model_devices` in llama.cpp): every card
 * once, the integrated ones of one backend where there is no card, the CPU where there is neither.
 */
function devicesThatShare(devices: readonly Device[]): Device[] {
  const seen = new Set<string>();
  const cards = devices.filter(({ kind, pciAddress }) => {
    if (kind !== 'gpu' || (pciAddress !== null && seen.has(pciAddress))) return false;
    if (pciAddress !== null) seen.add(pciAddress);
    return true;
  });
  if (cards.length > 0) return cards;
  const [first] = devices.filter(({ kind }) => kind === 'integrated');
  if (first === undefined) return devices.filter(({ kind }) => kind === 'cpu');
  return devices.filter(({ kind, backend }) => kind === 'integrated' && backend === first.backend);
}

function memoryOf(
  device: Device,
  deviceClass: DeviceClass,
  card: GpuReading | null,
  ram: MachineMemory,
): { totalBytes: number; freeBytes: number } {
  const { totalBytes, freeBytes } = device;
  switch (deviceClass) {
    case 'cpu':
      return { totalBytes: ram.totalBytes, freeBytes: ram.availableBytes };
    case 'unified': {
      const total = Math.min(totalBytes, ram.totalBytes);
      return { totalBytes: total, freeBytes: Math.min(freeBytes, ram.availableBytes, total) };
    }
    case 'gpu': {
      if (card === null || card.totalBytes === null || card.usedBytes === null) return { totalBytes, freeBytes };
      if (Math.abs(card.totalBytes - totalBytes) > card.totalBytes * SAME_MEMORY) return { totalBytes, freeBytes };
      // A backend that cannot see other programs, as Vulkan without memory budgets, says that all of it is free.
      const left = Math.max(0, card.totalBytes - card.usedBytes);
      return { totalBytes: Math.min(totalBytes, card.totalBytes), freeBytes: Math.floor(Math.min(freeBytes, left)) };
    }
  }
}
