const GROUP = 4;

/** The id of a pool, which is the hash of its key, in groups that can be read aloud. */
export function poolFingerprint(pool: string): string {
  return (pool.match(new RegExp(`.{1,${GROUP}}`, 'g')) ?? []).join(' ');
}
