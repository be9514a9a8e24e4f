import type { Run } from '../wire/generated/roomful/v1/ring.ts';

export interface CurrentRuns {
  runs: Run[];
  /** Their rows of the activations. */
  activations: Uint8Array;
  /** Slots with the generation that has them now, for the slots of `runs`. */
  generations: Map<number, number>;
  dropped: number;
}

/**
 * Leaves out the runs of sequences that have lost their slot: those of an older generation than the slot has had in
 * `generations` or in an earlier run. `rowBytes` is the size of one row of activations, 0 where there are none.
 */
export function dropStaleRuns(
  runs: Run[],
  activations: Uint8Array,
  rowBytes: number,
  generations: ReadonlyMap<number, number>,
): CurrentRuns {
  const seen = new Map<number, number>();
  const kept: Run[] = [];
  const rows: Uint8Array[] = [];
  let offset = 0;
  for (const run of runs) {
    const end = offset + run.tokens.length * rowBytes;
    const current = seen.get(run.slot) ?? generations.get(run.slot) ?? 0;
    if (run.generation >= current) {
      seen.set(run.slot, run.generation);
      kept.push(run);
      rows.push(activations.subarray(offset, end));
    }
    offset = end;
  }
  const dropped = runs.length - kept.length;
  return { runs: kept, activations: dropped === 0 ? activations : Buffer.concat(rows), generations: seen, dropped };
}
