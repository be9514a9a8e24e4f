import { createHash, randomBytes } from 'node:crypto';

const LINK_LIFETIME_MS = 10 * 60_000;
const MAX_LINKS = 100; // unused ones kept; the oldest goes first
const MAX_SESSIONS = 100;

/**
 * Who may open the window in a browser: a token works once and within ten minutes, and is exchanged for a session that
 * lives as long as the member. Only hashes are kept, so a look-up leaks nothing by its timing.
 */
export class WindowAccess {
  readonly #now: () => number;
  /** Hash of the token -> when it expires, ms. */
  readonly #links = new Map<string, number>();
  readonly #sessions = new Set<string>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** A new one-time token. */
  createToken(): string {
    const token = randomBytes(32).toString('base64url');
    this.#links.set(hash(token), this.#now() + LINK_LIFETIME_MS);
    dropOldest(this.#links, MAX_LINKS);
    return token;
  }

  /** Burns the token; null when it was used, has expired or never was. */
  exchange(token: string): string | null {
    const key = hash(token);
    const expires = this.#links.get(key);
    this.#links.delete(key);
    if (expires === undefined || expires <= this.#now()) return null;
    const session = randomBytes(32).toString('base64url');
    this.#sessions.add(hash(session));
    dropOldest(this.#sessions, MAX_SESSIONS);
    return session;
  }

  holds(session: string): boolean {
    return this.#sessions.has(hash(session));
  }
}

function hash(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function dropOldest(kept: Map<string, unknown> | Set<string>, most: number): void {
  for (const key of kept.keys()) {
    if (kept.size <= most) return;
    kept.delete(key);
  }
}
