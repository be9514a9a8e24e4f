import type { NativeRun } from './nativeAddon.ts';
import { BLOCK_ROWS, type RowCosts } from './rowCosts.ts';

/** What pads may fill. */
export interface PadRoom {
  costs: RowCosts;
  slots: number;
  /** Most rows of a step. */
  batch: number;
  /** Tokens that lie in a slot. */
  held: (slot: number) => number;
}

/** Padded rows must be so much quicker: what was measured is not exact. */
const WORTH_PADDING = 0.95;
/** Of one row's cost: what a pad more costs beside the kernels, and a batch more. Among equals fewer of both. */
const PAD_SHARE = 0.01;
const BATCH_SHARE = 0.02;
/** A row attends to as many cells as the longest slot of its batch has in use, in units of these (llama-kv-cache.cpp, get_n_kv). */
const CELLS = 256;
/** Rows of one batch that are looked at together; more fill their blocks well enough. */
const MOST_TOGETHER = 16;

/**
 * The runs of a step with rows that pad where those that are computed together take a kernel's blocks better: llama.cpp computes
 * decodes of neighbouring slots as one batch and begins another at every gap (split_equal in llama-batch.cpp), so the slots
 * between and beside them are filled, at the end of what they hold.
 */
export function padRuns(runs: readonly NativeRun[], room: PadRoom): NativeRun[] {
  const taken = new Set(runs.map(({ slot }) => slot));
  let left = room.batch - runs.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const padded: NativeRun[] = [];
  for (let first = 0; first < runs.length; ) {
    const group = decodesFrom(runs, first);
    const own = group.length > 0 ? padGroup(group, room, taken, left) : runs.slice(first, first + 1);
    left -= own.reduce((sum, { padRows = 0 }) => sum + padRows, 0);
    for (const { slot } of own) taken.add(slot);
    padded.push(...own);
    first += Math.max(1, group.length);
  }
  return padded;
}

/** Decodes of ascending slots, from `first` on. */
function decodesFrom(runs: readonly NativeRun[], first: number): NativeRun[] {
  const group: NativeRun[] = [];
  for (const run of runs.slice(first, first + MOST_TOGETHER)) {
    const { aloneRows = 0, drafts = 0, embed = null, tokens } = run;
    if (aloneRows > 0 || drafts > 0 || embed !== null || tokens.length !== 1) break;
    if (run.slot <= (group.at(-1)?.slot ?? -1)) break;
    group.push(run);
  }
  return group;
}

interface Batches {
  ms: number;
  /** First and last slot of each. */
  windows: readonly (readonly [number, number])[];
}

function padGroup(
  group: readonly NativeRun[],
  { costs, slots, held }: PadRoom,
  taken: ReadonlySet<number>,
  left: number,
): NativeRun[] {
  const longest = Math.max(...group.map(({ start }) => start + 1));
  const cells = Math.ceil(longest / CELLS) * CELLS;
  const isFree = (slot: number): boolean => slot >= 0 && slot < slots && !taken.has(slot) && held(slot) < cells;
  const at = group.map(({ slot }) => slot);
  const msOf = (rows: number, pads: number): number => costs.ms(rows) + (pads * PAD_SHARE + BATCH_SHARE) * costs.ms(1);

  const known = new Map<string, Batches>();
  /** The quickest batches for the runs from `index` on, in slots from `from` on. */
  const best = (index: number, from: number): Batches => {
    const slot = at[index];
    if (slot === undefined) return { ms: 0, windows: [] };
    const key = `${index} ${from}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    let found: Batches = { ms: Number.POSITIVE_INFINITY, windows: [] };
    for (let start = slot; start >= Math.max(from, slot - BLOCK_ROWS + 1); start -= 1) {
      if (start < slot && !isFree(start)) break;
      let count = 0;
      let beyond = 0;
      for (let end = start; beyond < BLOCK_ROWS; end += 1) {
        const isRun = at[index + count] === end;
        if (!isRun && !isFree(end)) break;
        if (isRun) count += 1;
        beyond = count === 0 || isRun ? 0 : beyond + 1;
        if (count === 0) continue;
        const rows = end - start + 1;
        // Neighbours would be one batch.
        const rest = best(index + count, end + 2);
        const ms = msOf(rows, rows - count) + rest.ms;
        if (ms < found.ms) found = { ms, windows: [[start, end], ...rest.windows] };
      }
    }
    known.set(key, found);
    return found;
  };

  const { ms, windows } = best(0, 0);
  const plainMs = neighbours(at).reduce((sum, rows) => sum + msOf(rows, 0), 0);
  const pads = windows.reduce((sum, [first, last]) => sum + last - first + 1, 0) - group.length;
  if (pads === 0 || pads > left || ms >= plainMs * WORTH_PADDING) return [...group];
  const runs = new Map(group.map((run) => [run.slot, run]));
  return windows.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, index) => runs.get(first + index) ?? padRun(first + index, 1)),
  );
}

/** How many slots without a gap there are each time. */
function neighbours(slots: readonly number[]): number[] {
  const counts: number[] = [];
  for (const [index, slot] of slots.entries()) {
    if (slot === (slots[index - 1] ?? -2) + 1) counts.push((counts.pop() ?? 0) + 1);
    else counts.push(1);
  }
  return counts;
}

/** Rows at the end of what a slot holds that are computed for nobody. */
export function padRun(slot: number, padRows: number): NativeRun {
  return { slot, start: 0, tokens: new Int32Array(0), truncateTo: null, sampling: null, padRows };
}
