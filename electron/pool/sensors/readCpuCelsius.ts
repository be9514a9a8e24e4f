import { join } from 'node:path';
import { cpuTemperature } from 'systeminformation';
import { systemNames, systemNumber, systemText } from './systemFile.ts';

/** Drivers of the processor's own sensor. */
const PROCESSOR_SENSORS = new Set(['coretemp', 'k10temp', 'zenpower', 'cpu_thermal', 'cpu-thermal', 'soc_thermal']);
const PROCESSOR_ZONES = /^(x86_pkg_temp|cpu|soc)/;

/** The temperature of the processor where it is hottest, in degrees Celsius; null where the system does not tell. */
export async function readCpuCelsius(
  platform: NodeJS.Platform = process.platform,
  sys = '/sys',
): Promise<number | null> {
  if (platform === 'linux') return (await sensorCelsius(sys)) ?? zoneCelsius(sys);
  const { max } = await cpuTemperature();
  // Zero stands for a sensor that only an administrator may read.
  return typeof max === 'number' && max > 0 ? max : null;
}

async function sensorCelsius(sys: string): Promise<number | null> {
  const folder = join(sys, 'class', 'hwmon');
  const inputs: (number | null)[] = [];
  for (const sensor of await systemNames(folder)) {
    if (!PROCESSOR_SENSORS.has((await systemText(join(folder, sensor, 'name'))) ?? '')) continue;
    const files = (await systemNames(join(folder, sensor))).filter((name) => /^temp\d+_input$/.test(name));
    inputs.push(...(await Promise.all(files.map((file) => systemNumber(join(folder, sensor, file))))));
  }
  return hottest(inputs);
}

async function zoneCelsius(sys: string): Promise<number | null> {
  const folder = join(sys, 'class', 'thermal');
  const inputs: (number | null)[] = [];
  for (const zone of await systemNames(folder)) {
    if (!PROCESSOR_ZONES.test((await systemText(join(folder, zone, 'type'))) ?? '')) continue;
    inputs.push(await systemNumber(join(folder, zone, 'temp')));
  }
  return hottest(inputs);
}

function hottest(milliCelsius: readonly (number | null)[]): number | null {
  const known = milliCelsius.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known) / 1000;
}
