import { PoolError } from '../poolError.ts';
import { isMember, type MemberEntry, type Roster, rosterVersion } from './roster.ts';
import type { MemberDraft, PoolDraft } from './rosterEntry.ts';

/** Who comes into the pool. */
export interface Newcomer {
  id: string;
  /** SubjectPublicKeyInfo, DER. */
  publicKey: Uint8Array;
  name: string;
  admin: boolean;
  origin: string | null;
}

/** What an admin signs when somebody comes: a new term for who was gone, a new line for who is in already. */
export function draftNewcomer(roster: Roster, { id, ...newcomer }: Newcomer, nowMs: number): MemberDraft {
  const known = roster.members.get(id);
  const term = known === undefined ? 1 : known.term + (known.standing === 'in' ? 0 : 1);
  return { subject: 'member', ...stampOf(roster, nowMs), ...newcomer, standing: 'in', term };
}

/**
 * What an admin signs to remove a member: its line, and those of members that came from copies of its folder, since who
 * held its key may have made them. Throws PoolError('UnknownMember').
 */
export function draftRemoval(roster: Roster, id: string, nowMs: number): MemberDraft[] {
  const gone = new Set([memberIn(roster, id).id]);
  for (let size = 0; size !== gone.size; ) {
    size = gone.size;
    for (const { id: other, origin, standing } of roster.members.values()) {
      if (standing === 'in' && origin !== null && gone.has(origin)) gone.add(other);
    }
  }
  return [...gone].map((each) => draftChange(roster, each, { standing: 'removed', admin: false }, nowMs));
}

/** What an admin signs to change a member's line. Throws PoolError('UnknownMember'). */
export function draftChange(
  roster: Roster,
  id: string,
  change: Partial<Pick<MemberEntry, 'name' | 'admin' | 'standing'>>,
  nowMs: number,
): MemberDraft {
  const { publicKey, name, admin, standing, term, origin } = memberIn(roster, id);
  return {
    subject: 'member',
    ...stampOf(roster, nowMs),
    publicKey,
    name,
    admin,
    standing,
    term,
    origin,
    ...change,
  };
}

export function draftPoolName(roster: Roster, name: string, nowMs: number): PoolDraft {
  return { subject: 'pool', ...stampOf(roster, nowMs), name };
}

/** The line of a member that is in. Throws PoolError('UnknownMember'). */
export function memberIn(roster: Roster, id: string): MemberEntry {
  const entry = roster.members.get(id);
  if (entry !== undefined && isMember(roster, id)) return entry;
  throw new PoolError('UnknownMember', `The pool has no member ${id}. 'roomful members' lists those that it has.`);
}

function stampOf(roster: Roster, nowMs: number): { version: number; signedAtMs: number } {
  return { version: rosterVersion(roster) + 1, signedAtMs: nowMs };
}
