import { readAppleCards } from './appleCards.ts';
import type { GpuReading } from './gpuReading.ts';
import { nvidiaSleeps, readLinuxCards } from './linuxCards.ts';
import { readNvidiaCards } from './nvidiaCards.ts';
import { type RunProgram, runProgram } from './runProgram.ts';

/**
 * What the drivers of this machine say of its graphics cards: NVIDIA on Linux and Windows, AMD and, in part, Intel on
 * Linux, Apple. Other cards are left out. Never wakes a card that sleeps.
 */
export async function readGpus(
  run: RunProgram = runProgram,
  platform: NodeJS.Platform = process.platform,
  sys = '/sys',
): Promise<GpuReading[]> {
  if (platform === 'darwin') return readAppleCards(run);
  if (platform !== 'linux') return readNvidiaCards(run);
  const [asleep, cards] = await Promise.all([nvidiaSleeps(sys), readLinuxCards(sys)]);
  return asleep ? cards : [...(await readNvidiaCards(run)), ...cards];
}
