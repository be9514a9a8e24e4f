import { createHash, randomBytes } from 'node:crypto';

const MAX_LINKS = 100; // unused ones kept; the oldest goes first
const MAX_SESSIONS = 100;

/**
 * Who may open the window in a browser: the token of a link works once and is exchanged for a session that lives as long
 * as the member. Only hashes are kept, so a look-up leaks nothing by its timing.
 */
export class WindowAccess {
  readonly #links = new Set<string>();
  readonly #sessions = new Set<string>();

  /** A new one-time token. */
  createToken(): string {
    return remember(this.#links, MAX_LINKS);
  }

  /** Burns the token; null when it was used or never was. */
  exchange(token: string): string | null {
    return this.#links.delete(hash(token)) ? remember(this.#sessions, MAX_SESSIONS) : null;
  }

  holds(session: string): boolean {
    return this.#sessions.has(hash(session));
  }
}

/** Makes a secret and keeps its hash, at the price of the oldest one beyond `most`. */
function remember(kept: Set<string>, most: number): string {
  const secret = randomBytes(32).toString('base64url');
  kept.add(hash(secret));
  const [oldest] = kept;
  if (kept.size > most && oldest !== undefined) kept.delete(oldest);
  return secret;
}

function hash(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
