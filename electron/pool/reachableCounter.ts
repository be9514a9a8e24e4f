/** Far more than any pool has, so that a wrong clock keeps nobody out. */
const ALWAYS = 1_000_000;
const PER_MS = 10 / 1000;

/**
 * The highest epoch counter, or incarnation, that a pool of this age can have come to: ten a second, where an election takes
 * seconds. Who names a higher one is not believed, so that a member gone wrong cannot use up the numbers that the others
 * need; and because the bound grows faster than elections count, whoever went up to it is outbid all the same. Both times are
 * ms since 1970; `madeMs` is when the pool was made.
 */
export function reachableCounter(madeMs: number, wallMs: number): number {
  return ALWAYS + Math.max(0, Math.floor((wallMs - madeMs) * PER_MS));
}
