import type { NativeLoadOptions, NativeStage } from './nativeAddon.ts';
import { padRun } from './padRuns.ts';
import { givesRows, takesRows } from './roleRows.ts';
import { BLOCK_ROWS, RowCosts } from './rowCosts.ts';

const MOST_ROUNDS = 3;
/** No further round begins after so many ms: large stages are slow, and told apart by one. */
const ENOUGH_MS = 400;

/**
 * Measures what 1 to BLOCK_ROWS rows cost a stage that has just been loaded, each by its quickest step, for others may be busy. The
 * rows belong to nobody and leave nothing behind.
 */
export async function measureRowCosts(
  native: Pick<NativeStage, 'decode'>,
  { role }: Pick<NativeLoadOptions, 'role'>,
): Promise<RowCosts> {
  const measure = async (padRows: number): Promise<number> => {
    const { computeMs } = await native.decode({
      runs: [padRun(0, padRows)],
      input: takesRows(role) ? { format: 'f32', bytes: new Uint8Array(0) } : null,
      output: givesRows(role) ? new Uint8Array(0) : null,
      outputFormat: 'f32',
    });
    return computeMs;
  };
  // The first step meets cold weights.
  await measure(BLOCK_ROWS);
  const costs = new Array<number>(BLOCK_ROWS).fill(Number.POSITIVE_INFINITY);
  const startedAt = performance.now();
  for (let round = 0; round < MOST_ROUNDS && performance.now() - startedAt < ENOUGH_MS; round += 1) {
    for (const [index, known] of costs.entries()) costs[index] = Math.min(known, await measure(index + 1));
  }
  return new RowCosts(costs);
}
