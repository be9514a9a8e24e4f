import type { GpuReading } from '../sensors/gpuReading.ts';

/** What this member itself does on the graphics cards. */
export interface OwnUse {
  /** The processes of its stages. */
  pids: ReadonlySet<number>;
  /** Whether a stage has computed since the reading before. */
  computed: boolean;
}

/** Programs that together account for less of the card's work than this tell nothing: some drivers list them without. */
const ACCOUNTED_FOR = 0.5;

/**
 * The part of the time in which the busiest of the cards computed for other programs, 0 to 1; null where no driver tells.
 * `unclear` while this member computes itself and the driver tells no programs apart.
 */
export function gpuWanted(cards: readonly GpuReading[], own: OwnUse): number | 'unclear' | null {
  const wanted = cards.map((card) => wantedOf(card, own));
  const known = wanted.filter((part) => typeof part === 'number');
  if (known.length > 0) return Math.max(...known);
  return wanted.includes('unclear') ? 'unclear' : null;
}

function wantedOf({ busy, programs }: GpuReading, own: OwnUse): number | 'unclear' | null {
  if (programs !== null) {
    const sum = (list: typeof programs) => list.reduce((total, program) => total + program.busy, 0);
    if (busy === null || sum(programs) >= busy * ACCOUNTED_FOR) {
      return Math.min(1, sum(programs.filter(({ pid }) => !own.pids.has(pid))));
    }
  }
  return busy !== null && own.computed ? 'unclear' : busy;
}
