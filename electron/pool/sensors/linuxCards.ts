import { realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { GpuReading } from './gpuReading.ts';
import { systemNames, systemNumber, systemText } from './systemFile.ts';

const NVIDIA = '0x10de';

/**
 * The graphics cards whose Linux drivers tell about them in /sys: amdgpu all of it, others less. Those of NVIDIA are left
 * out; see readNvidiaCards. A card that sleeps is not asked, which would wake it.
 */
export async function readLinuxCards(sys = '/sys'): Promise<GpuReading[]> {
  const folder = join(sys, 'class', 'drm');
  const names = (await systemNames(folder)).filter((name) => /^card\d+$/.test(name));
  const readings = await Promise.all(names.map((name) => readCard(join(folder, name, 'device'))));
  return readings.filter((reading) => reading !== null);
}

/** Whether all NVIDIA cards of a laptop sleep, so that asking their driver would wake one. */
export async function nvidiaSleeps(sys = '/sys'): Promise<boolean> {
  const folder = join(sys, 'bus', 'pci', 'drivers', 'nvidia');
  const cards = (await systemNames(folder)).filter((name) => /^[0-9a-f]{4}:/.test(name));
  const states = await Promise.all(cards.map((card) => systemText(join(folder, card, 'power', 'runtime_status'))));
  return states.length > 0 && states.every((state) => state === 'suspended');
}

async function readCard(device: string): Promise<GpuReading | null> {
  const [path, driver] = await Promise.all([nameOfLink(device), nameOfLink(join(device, 'driver'))]);
  const vendor = await systemText(join(device, 'vendor'));
  if (path === null || vendor === null || vendor === NVIDIA) return null;
  const card = { name: driver ?? vendor, pciAddress: /^[0-9a-f]{4}:/.test(path) ? path : null, programs: null };
  if ((await systemText(join(device, 'power', 'runtime_status'))) === 'suspended') {
    return { ...card, totalBytes: null, usedBytes: null, busy: 0, celsius: null };
  }
  const [totalBytes, usedBytes, percent, [monitor]] = await Promise.all([
    systemNumber(join(device, 'mem_info_vram_total')),
    systemNumber(join(device, 'mem_info_vram_used')),
    systemNumber(join(device, 'gpu_busy_percent')),
    systemNames(join(device, 'hwmon')),
  ]);
  const heat = monitor === undefined ? null : await systemNumber(join(device, 'hwmon', monitor, 'temp1_input'));
  return {
    ...card,
    totalBytes,
    usedBytes,
    busy: percent === null ? null : percent / 100,
    celsius: heat === null ? null : heat / 1000,
  };
}

async function nameOfLink(path: string): Promise<string | null> {
  try {
    return basename(await realpath(path));
  } catch {
    return null;
  }
}
