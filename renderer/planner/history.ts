/** A value with its past and future. Changes of one gesture count as one. */
export interface History<T> {
  past: readonly T[];
  present: T;
  future: readonly T[];
  /** Names the gesture under way. */
  gesture: string | null;
}

const MOST_STEPS = 200;

export function startHistory<T>(present: T): History<T> {
  return { past: [], present, future: [], gesture: null };
}

/** Takes a new value over. With the name of the gesture under way it replaces what that gesture made before. */
export function record<T>(history: History<T>, next: T, gesture: string | null = null): History<T> {
  if (next === history.present) return history;
  if (gesture !== null && gesture === history.gesture) return { ...history, present: next, future: [] };
  return { past: [...history.past, history.present].slice(-MOST_STEPS), present: next, future: [], gesture };
}

/** Ends the gesture: the next change is one of its own. */
export function settle<T>(history: History<T>): History<T> {
  return history.gesture === null ? history : { ...history, gesture: null };
}

export function undo<T>({ past, present, future, ...rest }: History<T>): History<T> {
  const before = past.at(-1);
  if (before === undefined) return { past, present, future, ...rest };
  return { past: past.slice(0, -1), present: before, future: [present, ...future], gesture: null };
}

export function redo<T>({ past, present, future, ...rest }: History<T>): History<T> {
  const [after, ...later] = future;
  if (after === undefined) return { past, present, future, ...rest };
  return { past: [...past, present], present: after, future: later, gesture: null };
}
