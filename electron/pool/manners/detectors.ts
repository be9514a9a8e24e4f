import type { GpuReading } from '../sensors/gpuReading.ts';
import { readCpuCelsius } from '../sensors/readCpuCelsius.ts';
import { readGpus } from '../sensors/readGpus.ts';
import { readOnBattery } from '../sensors/readOnBattery.ts';

/** What the machine is asked about itself; null where it does not know. */
export interface Detectors {
  onBattery(): Promise<boolean | null>;
  cpuCelsius(): Promise<number | null>;
  gpus(): Promise<GpuReading[]>;
}

/** The sensors and drivers of this machine. */
export const systemDetectors: Detectors = {
  onBattery: () => readOnBattery(),
  cpuCelsius: () => readCpuCelsius(),
  gpus: () => readGpus(),
};
