import type { Manner } from './manner.ts';
import type { Vote } from './voteOf.ts';

/** Whether a manner pauses, and for how long the readings have spoken against that without a break. */
export interface PauseState {
  paused: boolean;
  /** Null while they do not speak against it. */
  againstMs: number | null;
}

export const sharing: PauseState = { paused: false, againstMs: null };

/** How long readings must speak for a change before it is made, ms. */
export const DWELL_MS: Readonly<Record<Manner, { pause: number; share: number }>> = {
  battery: { pause: 0, share: 10_000 },
  heat: { pause: 20_000, share: 60_000 },
  gpu: { pause: 15_000, share: 60_000 },
};

/**
 * The state after one more reading, `elapsedMs` after the one before. A change needs readings that speak for it, one after
 * the other, for as long as `dwell` says; those between the limits break it off. A sensor that has fallen silent cannot
 * hold a pause: its silence counts as speaking for sharing, but never for a pause.
 */
export function stepPause(
  state: PauseState,
  vote: Vote,
  elapsedMs: number,
  dwell: { pause: number; share: number },
): PauseState {
  const against = state.paused ? vote === 'share' || vote === 'unknown' : vote === 'pause';
  if (!against) return { paused: state.paused, againstMs: null };
  const againstMs = state.againstMs === null ? 0 : state.againstMs + elapsedMs;
  if (againstMs < (state.paused ? dwell.share : dwell.pause)) return { paused: state.paused, againstMs };
  return { paused: !state.paused, againstMs: null };
}
