import { parseInvite } from '../pool/trust/inviteToken.ts';
import { poolFingerprint } from '../pool/trust/poolFingerprint.ts';

/** What a person is asked before a link lets this machine into a pool. */
export interface JoinQuestion {
  /** What is joined by it. */
  token: string;
  message: string;
  detail: string;
}

/**
 * Reads a `roomful://join/` link. Throws PoolError('BadInvite') for what is none, is cut off or mistyped, and an Error for
 * one that has expired by this machine's clock.
 */
export function joinQuestion(link: string, { now, pool }: { now: number; pool: string | null }): JoinQuestion {
  // Some systems add a slash to a link that they hand over.
  const token = link.replace(/\/+$/, '');
  const invite = parseInvite(token);
  if (invite.expiresAtMs < now) throw new Error(`The invite to ${invite.poolName} has expired. Ask for a new one.`);
  if (pool !== null) {
    throw new Error(`This machine is in ${pool}. Leave it before you join ${invite.poolName}.`);
  }
  return {
    token,
    message: `Join the pool “${invite.poolName}”?`,
    detail:
      `Fingerprint: ${poolFingerprint(invite.pool)}\n\n` +
      'Compare it with that of whoever invites you, and join only a pool whose people you know: its members see this machine, ' +
      'and those that serve a model can read what is asked of it.',
  };
}
