import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { ggufBytes, modelEntries } from '../../electron/gguf/testing/ggufBytes.ts';
import type { BenchReport } from './report.ts';

const RUNS = 7;

/** Reads the header of a file of 100,000 tensors, each time in a new process: the time of the first read, and the memory. */
export async function header(): Promise<BenchReport> {
  const folder = await mkdtemp(join(tmpdir(), 'roomful-header-'));
  try {
    const path = join(folder, 'many.gguf');
    const tensors = Array.from({ length: 100_000 }, (_, n) => ({ name: `blk.${n % 100}.part.${n}.weight` }));
    await writeFile(path, ggufBytes({ entries: modelEntries(100), tensors }));
    const runs: Measured[] = [];
    for (let run = 0; run < RUNS; run++) runs.push(await measure(path));
    const of = (key: keyof Measured): number[] => runs.map((run) => run[key]).sort((a, b) => a - b);
    const row = (what: string, values: number[], most: string) => ({
      what,
      median: Math.round(values[values.length >> 1] ?? 0),
      worst: Math.round(values.at(-1) ?? 0),
      'must be': most,
    });
    return {
      title: `The header of 100,000 tensors, ${RUNS} processes`,
      columns: ['what', 'median', 'worst', 'must be'],
      rows: [
        row('ms, the first read of the process', of('ms'), 'under 300'),
        row('ms of CPU of that, all threads', of('cpuMs'), ''),
        row('MB of memory at most, the whole process', of('megabytes'), 'under 200'),
        row('MB of that before it reads', of('idleMegabytes'), ''),
      ],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Measured {
  ms: number;
  cpuMs: number;
  megabytes: number;
  idleMegabytes: number;
}

async function measure(path: string): Promise<Measured> {
  const module = pathToFileURL(join(import.meta.dirname, '..', '..', 'electron', 'gguf', 'openModel.js')).href;
  const script = `
    import { openModel } from ${JSON.stringify(module)};
    const idle = process.resourceUsage().maxRSS;
    const cpu = process.cpuUsage();
    const began = performance.now();
    const { tensors } = await openModel(${JSON.stringify(path)});
    const ms = performance.now() - began;
    const { user, system } = process.cpuUsage(cpu);
    if (tensors.size !== 100_000) throw new Error('It has other tensors.');
    console.log(JSON.stringify({ ms, cpuMs: (user + system) / 1e3, megabytes: process.resourceUsage().maxRSS / 1e3, idleMegabytes: idle / 1e3 }));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  return JSON.parse(stdout);
}
