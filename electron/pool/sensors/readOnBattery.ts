import { join } from 'node:path';
import { battery } from 'systeminformation';
import { systemNames, systemNumber, systemText } from './systemFile.ts';

/** Charge below which a battery that is not charged is taken to be in use: full ones report neither. */
const FULL_PERCENT = 99;

/** Whether this machine runs on its battery; false where it has none. */
export async function readOnBattery(platform: NodeJS.Platform = process.platform, sys = '/sys'): Promise<boolean> {
  if (platform === 'linux') return linuxOnBattery(sys);
  const { hasBattery, acConnected, isCharging, percent } = await battery();
  return hasBattery && !acConnected && !isCharging && percent < FULL_PERCENT;
}

/** Every supply is asked: what the mains are called differs from maker to maker (AC, ADP1, ACAD, a USB-C port). */
async function linuxOnBattery(sys: string): Promise<boolean> {
  const folder = join(sys, 'class', 'power_supply');
  let discharges = false;
  for (const name of await systemNames(folder)) {
    const read = (file: string) => systemText(join(folder, name, file));
    const [type, scope, status] = await Promise.all([read('type'), read('scope'), read('status')]);
    if (type === 'Battery') discharges ||= scope !== 'Device' && status === 'Discharging';
    else if ((await systemNumber(join(folder, name, 'online'))) === 1) return false;
  }
  return discharges;
}
