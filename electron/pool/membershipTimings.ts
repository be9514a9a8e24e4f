/** How often a member tells the others that it lives, ms. */
export const BEAT_MS = 500;
/** Silence after which a member is suspect, ms. */
export const SUSPECT_MS = 1500;
/** Silence after which a member, or a link, is lost, ms. */
export const LOST_MS = 3000;
/** How often time is let pass, ms: as much later may a silence be noticed. */
export const TICK_MS = 100;
/** A pause between two events that says that this process did not run, ms; others were not silent meanwhile. */
export const STALL_MS = 400;
/** How long a member that starts looks for a leader before it leads itself, ms. */
export const SETTLE_MS = 3000;
/**
 * The same for a member that wakes, ms: its network comes back later than it does, and the pool has gone on without it. An
 * epoch that began with it would depose the leader.
 */
export const WAKE_SETTLE_MS = 20_000;
/**
 * The same for a member that knows no epoch of its pool yet, ms: whoever let it in is there, only slow perhaps, and an epoch
 * that began with it could be taken for a newer one than theirs.
 */
export const NEWCOMER_SETTLE_MS = 10_000;
/** Wait after the first failed dial, doubled with every further one, ms. */
export const REDIAL_MIN_MS = 250;
/** Longest wait between two dials, ms. */
export const REDIAL_MAX_MS = 2000;
