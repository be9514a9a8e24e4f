import type { GpuReading } from './gpuReading.ts';
import type { RunProgram } from './runProgram.ts';

/** The graphics processor of a Mac, as the I/O registry sees it. */
export async function readAppleCards(run: RunProgram): Promise<GpuReading[]> {
  const registry = await run('ioreg', ['-r', '-d', '1', '-w', '0', '-c', 'IOAccelerator']);
  return registry === null ? [] : parseAppleCards(registry);
}

/** Reads the answer of `ioreg -r -d 1 -w 0 -c IOAccelerator`. */
export function parseAppleCards(registry: string): GpuReading[] {
  return registry.split(/^\+-o /m).flatMap((entry) => {
    const busy = field(entry, 'Device Utilization %');
    if (busy === null) return [];
    const [, model] = /"model" = "([^"]+)"/.exec(entry) ?? [];
    return {
      name: model ?? 'Apple GPU',
      pciAddress: null,
      totalBytes: null,
      usedBytes: field(entry, 'In use system memory'),
      busy: busy / 100,
      celsius: null,
      programs: null,
    };
  });
}

function field(entry: string, name: string): number | null {
  const [, value] = new RegExp(`"${name}"\\s*=\\s*(\\d+)`).exec(entry) ?? [];
  return value === undefined ? null : Number(value);
}
