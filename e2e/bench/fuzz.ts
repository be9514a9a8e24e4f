import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fuzzOnce, fuzzSeeds } from '../../electron/gguf/testing/fuzzModels.ts';
import type { BenchReport } from './report.ts';

/**
 * Changes GGUF files at random and reads their headers for `FUZZ_SECONDS` (300), beginning at the seed `FUZZ_SEED` (1). What it
 * finds is reported with its seed, by which it can be made again.
 */
export async function fuzz(): Promise<BenchReport> {
  const seconds = Number(process.env.FUZZ_SECONDS ?? 300);
  const first = Number(process.env.FUZZ_SEED ?? 1);
  const folder = await mkdtemp(join(tmpdir(), 'roomful-fuzz-'));
  const outcomes = new Map<string, number>();
  let files = 0;
  let slowestMs = 0;
  try {
    const seeds = await fuzzSeeds(folder);
    const path = join(folder, 'fuzzed.gguf');
    for (const end = performance.now() + seconds * 1000; performance.now() < end; files++) {
      const began = performance.now();
      const outcome = await fuzzOnce(seeds, first + files, path).catch(
        (cause: unknown) => `FOUND with seed ${first + files}: ${cause instanceof Error ? cause.message : cause}`,
      );
      slowestMs = Math.max(slowestMs, performance.now() - began);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const peak = `${Math.round(slowestMs)} ms and ${Math.round(process.resourceUsage().maxRSS / 1000)} MB at most`;
  return {
    title: `${files} files, seeds ${first} to ${first + files - 1}, in ${seconds} s, ${peak}`,
    columns: ['outcome', 'files'],
    rows: [...outcomes].sort((a, b) => b[1] - a[1]).map(([outcome, count]) => ({ outcome, files: count })),
  };
}
