/** Longest and shortest run of tokens at the end of a log that is looked for earlier in it. */
const LONGEST = 4;
const SHORTEST = 2;
/** How far back it is looked, in tokens. */
const MOST_LOOKED_AT = 8192;

/**
 * Drafts without a model: what followed the last time that the log ended as it does now ("prompt lookup decoding"). At most
 * `count` tokens; empty where the end of the log is new.
 */
export function lookupDraft(log: readonly number[], count: number): number[] {
  const end = log.length;
  const oldest = Math.max(0, end - MOST_LOOKED_AT);
  for (let size = LONGEST; size >= SHORTEST; size -= 1) {
    for (let start = end - size - 1; start >= oldest; start -= 1) {
      if (!endsAlike(log, start, size)) continue;
      return log.slice(start + size, Math.min(end, start + size + count));
    }
  }
  return [];
}

function endsAlike(log: readonly number[], start: number, size: number): boolean {
  const tail = log.length - size;
  for (let i = size - 1; i >= 0; i -= 1) if (log[start + i] !== log[tail + i]) return false;
  return true;
}
