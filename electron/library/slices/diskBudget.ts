/** What lies in the folder of stage files and may be removed as a whole. */
export interface KeptFiles {
  key: string;
  bytes: number;
  /** ms since 1970. */
  usedAt: number;
  /** Serves now, or is being made. */
  inUse: boolean;
}

export interface Room {
  /** Most bytes of all kept files together. */
  budget: number;
  /** Bytes free on the disk. */
  free: number;
}

export type Eviction =
  | { fits: true; evict: string[] }
  /** `missing` bytes that no eviction can give; what is short of them. */
  | { fits: false; missing: number; shortOf: 'budget' | 'disk' };

/**
 * What to remove so that `needed` more bytes fit: least recently used first, nothing that is in use, and no more than
 * has to go. Pure.
 */
export function chooseEvictions(kept: readonly KeptFiles[], needed: number, { budget, free }: Room): Eviction {
  const used = kept.reduce((sum, { bytes }) => sum + bytes, 0);
  const overBudget = used + needed - budget;
  const overDisk = needed - free;
  const candidates = kept.filter(({ inUse }) => !inUse).sort((a, b) => a.usedAt - b.usedAt || (a.key < b.key ? -1 : 1));
  const evict: string[] = [];
  let gained = 0;
  for (const { key, bytes } of candidates) {
    if (gained >= Math.max(overBudget, overDisk)) break;
    evict.push(key);
    gained += bytes;
  }
  if (gained < overBudget) return { fits: false, missing: overBudget - gained, shortOf: 'budget' };
  if (gained < overDisk) return { fits: false, missing: overDisk - gained, shortOf: 'disk' };
  return { fits: true, evict };
}
