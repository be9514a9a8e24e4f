import type { BenchOptions } from './benchOptions.ts';
import type { BenchReport } from './report.ts';
import { type SoakResult, soakPool } from './soakPool.ts';

const STREAMS = 64;
const MINUTES = 10;
/** Memory is to be flat after this long, s. */
const SETTLING_S = 60;

/** Many streams at once for a while, and one client that reads nothing; memory is that of every process of the pool. */
export async function soak({
  minutes = MINUTES,
  concurrency: [streams = STREAMS] = [],
}: BenchOptions): Promise<BenchReport> {
  process.stderr.write('forming a pool, and asking each question alone first ...\n');
  const result = await soakPool({
    streams,
    seconds: minutes * 60,
    onProgress: (line) => process.stderr.write(`${line}    \r`),
  });
  process.stderr.write('\n');
  const { answers, tokens, errors, wrong, unread, seconds } = result;
  const [early, late] = memoryOf(result);
  const rows = [
    { what: 'streams at once', value: streams },
    { what: 'seconds', value: Math.round(seconds) },
    { what: 'answers', value: answers },
    { what: 'tokens/s', value: Math.round(tokens / seconds) },
    { what: 'errors', value: errors.length, 'must be': 0 },
    { what: 'answers that differ from the one alone', value: wrong, 'must be': 0 },
    { what: 'clients that read nothing', value: unread },
    { what: `MB after ${SETTLING_S} s`, value: early },
    { what: 'MB at the end', value: late, 'must be': 'as before' },
    ...errors.slice(0, 3).map((error) => ({ what: 'error', value: error })),
  ];
  return { title: 'soak: the demo model over two members', columns: ['what', 'value', 'must be'], rows };
}

/** Medians of the resident memory of all processes, MB: of the quarter of the time after it should have settled, and of the last one. */
function memoryOf({ memory, seconds }: SoakResult): [number, number] {
  const settled = memory.filter(({ second }) => second >= Math.min(SETTLING_S, seconds / 2));
  const quarter = Math.max(1, Math.floor(settled.length / 4));
  const middle = (some: SoakResult['memory']): number => {
    const sorted = some.map(({ bytes }) => bytes).sort((a, b) => a - b);
    return Math.round((sorted[sorted.length >> 1] ?? 0) / 1e6);
  };
  return [middle(settled.slice(0, quarter)), middle(settled.slice(-quarter))];
}
