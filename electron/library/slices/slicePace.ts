export interface PaceSettings {
  /** Most bytes per second that leave; null for no limit. */
  bytesPerSecond: number | null;
  /** Of the time, what serving may take while a stage computes here; above 0, at most 1. */
  loadedShare: number;
}

/** When the next chunk may begin, ms of the caller's clock. */
export interface PaceState {
  /** By the limit of bytes. */
  limitAt: number;
  /** By the rest that a computing stage is owed. */
  restAt: number;
}

export const freshPace: PaceState = { limitAt: 0, restAt: 0 };

/** A chunk that waits for its receiver rather than for this machine must not earn a long rest. */
const MOST_BUSY_MS = 50;

/** When a chunk of so many bytes may begin, and the state once it does. */
export function reserveChunk(
  state: PaceState,
  chunk: { now: number; bytes: number; loaded: boolean },
  { bytesPerSecond }: PaceSettings,
): { state: PaceState; startAt: number } {
  const { now, bytes, loaded } = chunk;
  const startAt = Math.max(now, bytesPerSecond === null ? now : state.limitAt, loaded ? state.restAt : now);
  const takes = bytesPerSecond === null ? 0 : (bytes / bytesPerSecond) * 1000;
  return { state: { ...state, limitAt: startAt + takes }, startAt };
}

/**
 * The state after a chunk that kept this machine busy from `startedAt` to `now`: as many rests follow as bring what serving
 * takes down to the share. As chunks then go one by one, a stage that got nothing done beside them would still have the
 * rest of the time.
 */
export function endChunk(
  state: PaceState,
  chunk: { startedAt: number; now: number },
  { loadedShare }: PaceSettings,
): PaceState {
  const busy = Math.min(MOST_BUSY_MS, Math.max(0, chunk.now - chunk.startedAt));
  return { ...state, restAt: Math.max(state.restAt, chunk.now + (busy * (1 - loadedShare)) / loadedShare) };
}
