import type { GpuProgram, GpuReading } from './gpuReading.ts';
import type { RunProgram } from './runProgram.ts';

const MIB = 2 ** 20;
const CARD_FIELDS = 'index,pci.bus_id,memory.total,memory.used,utilization.gpu,temperature.gpu,name';

/** The NVIDIA cards as `nvidia-smi` sees them, which comes with the driver; none where it is missing. */
export async function readNvidiaCards(run: RunProgram): Promise<GpuReading[]> {
  const cards = await run('nvidia-smi', [`--query-gpu=${CARD_FIELDS}`, '--format=csv,noheader,nounits']);
  if (cards === null || cards.trim() === '') return [];
  // One sample per program; drivers for Windows do not offer it for most cards.
  const programs = await run('nvidia-smi', ['pmon', '-c', '1', '-s', 'u']);
  return parseNvidiaCards(cards, programs);
}

/** Reads the answers of `nvidia-smi --query-gpu` and, where there is one, of `nvidia-smi pmon -s u`. */
export function parseNvidiaCards(cards: string, programs: string | null): GpuReading[] {
  const programsOf = programs === null ? null : parsePrograms(programs);
  return cards
    .split('\n')
    .map((line) => line.split(',').map((field) => field.trim()))
    .flatMap(([index, bus, total, used, busy, celsius, ...name]) => {
      if (index === undefined || name.length === 0) return [];
      return {
        name: name.join(','),
        pciAddress: pciAddressOf(bus ?? ''),
        totalBytes: times(numberOf(total), MIB),
        usedBytes: times(numberOf(used), MIB),
        busy: times(numberOf(busy), 0.01),
        celsius: numberOf(celsius),
        programs: programsOf === null ? null : (programsOf.get(index) ?? []),
      };
    });
}

/** Programs by the index of their card. Drivers differ in the columns, so the first line tells which is which. */
function parsePrograms(text: string): Map<string, GpuProgram[]> | null {
  const lines = text.split('\n').map((line) => line.trim());
  const header =
    lines
      .find((line) => line.startsWith('#'))
      ?.replace(/^#\s*/, '')
      .split(/\s+/) ?? [];
  const [card, pid, busy] = ['gpu', 'pid', 'sm'].map((name) => header.indexOf(name));
  if (card === undefined || pid === undefined || busy === undefined || Math.min(card, pid, busy) < 0) return null;
  const programs = new Map<string, GpuProgram[]>();
  for (const line of lines) {
    const fields = line.split(/\s+/);
    const id = numberOf(fields[pid]);
    if (line.startsWith('#') || id === null) continue;
    const index = fields[card] ?? '';
    // A dash stands for a program that did not compute while the sample was taken.
    programs.set(index, [...(programs.get(index) ?? []), { pid: id, busy: (numberOf(fields[busy]) ?? 0) / 100 }]);
  }
  return programs;
}

/** `00000000:C1:00.0` as Linux and ggml write it. */
function pciAddressOf(bus: string): string | null {
  const [, domain, rest] = /^([0-9a-f]{4,8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])$/i.exec(bus) ?? [];
  return domain === undefined ? null : `${domain.slice(-4)}:${rest}`.toLowerCase();
}

function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) : null;
}

function times(value: number | null, factor: number): number | null {
  return value === null ? null : value * factor;
}
