import { createPublicKey, verify, X509Certificate } from 'node:crypto';
import {
  MemberStanding,
  type MemberSubject,
  RosterEntry,
  type SignedEntry,
} from '../../wire/generated/roomful/v1/roster.ts';
import { memberIdOf } from '../../wire/memberId.ts';
import type { PoolAuthority } from '../poolAuthority.ts';
import { PoolError } from '../poolError.ts';
import { nameSchema } from './names.ts';
import type { Entry, MemberEntry, PoolEntry, Roster, Standing } from './roster.ts';

const { MEMBER_STANDING_IN, MEMBER_STANDING_LEFT, MEMBER_STANDING_REMOVED } = MemberStanding;
const STANDING_CODES = { in: MEMBER_STANDING_IN, left: MEMBER_STANDING_LEFT, removed: MEMBER_STANDING_REMOVED };
const DOMAIN = 'roomful roster 1';

/** What an admin says about a member; the id follows from the key. */
export type MemberDraft = Omit<MemberEntry, 'id' | 'signed'>;
/** What an admin says about the pool. */
export type PoolDraft = Omit<PoolEntry, 'signed'>;

export function signMember(authority: PoolAuthority, draft: MemberDraft): MemberEntry {
  const { version, signedAtMs, name, admin, standing, term } = draft;
  const publicKey = Buffer.from(draft.publicKey);
  const member = { publicKey, name, admin, standing: STANDING_CODES[standing], term, origin: draft.origin ?? '' };
  return {
    ...draft,
    id: idOf(publicKey),
    signed: signBody(authority, { version, signedAtMs, member, pool: undefined }),
  };
}

export function signPool(authority: PoolAuthority, draft: PoolDraft): PoolEntry {
  const { version, signedAtMs, name } = draft;
  return { ...draft, signed: signBody(authority, { version, signedAtMs, pool: { name }, member: undefined }) };
}

/**
 * Reads entries and checks that the CA of `pool`, whose certificate (PEM) is `ca`, has signed each; those that `known`
 * holds already are not checked again. Leaves out subjects of which this version knows nothing. Throws
 * PoolError('BadRoster').
 */
export function readEntries(
  entries: readonly SignedEntry[],
  { pool, ca, known }: { pool: string; ca: string; known: Roster },
): Entry[] {
  const key = new X509Certificate(ca).publicKey;
  const read: Entry[] = [];
  for (const signed of entries) {
    const entry = parseEntry(signed);
    if (entry === null) continue;
    const same = entry.subject === 'pool' ? known.pool : known.members.get(entry.id);
    if (same !== undefined && same !== null && isSame(same.signed, signed)) continue;
    const bytes = signedBytes(pool, signed.body);
    if (!verify('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' }, signed.signature)) {
      throw new PoolError('BadRoster', "An entry of the roster was not signed by this pool's CA.");
    }
    read.push(entry);
  }
  return read;
}

function parseEntry(signed: SignedEntry): Entry | null {
  try {
    const { version, signedAtMs, pool, member } = RosterEntry.decode(signed.body);
    const common = { version, signedAtMs, signed };
    if (pool !== undefined) return { subject: 'pool', name: nameSchema.parse(pool.name), ...common };
    const standing = member && standingOf(member.standing);
    if (member === undefined || standing === undefined) return null;
    return { subject: 'member', ...memberOf(member), standing, ...common };
  } catch (cause) {
    throw new PoolError('BadRoster', 'An entry of the roster cannot be read.', { cause });
  }
}

function memberOf({ publicKey, name, admin, term, origin }: MemberSubject) {
  return {
    id: idOf(publicKey),
    publicKey,
    name: nameSchema.parse(name),
    admin,
    term,
    origin: origin === '' ? null : origin,
  };
}

function standingOf(code: MemberStanding): Standing | undefined {
  return (['in', 'left', 'removed'] as const).find((standing) => STANDING_CODES[standing] === code);
}

function idOf(publicKey: Uint8Array): string {
  return memberIdOf(createPublicKey({ key: Buffer.from(publicKey), format: 'der', type: 'spki' }));
}

function signBody(authority: PoolAuthority, entry: RosterEntry): SignedEntry {
  const body = RosterEntry.encode(entry).finish();
  return { body, signature: authority.sign(signedBytes(authority.pool, body)) };
}

function signedBytes(pool: string, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${DOMAIN} ${pool} `), body]);
}

function isSame(a: SignedEntry, b: SignedEntry): boolean {
  return Buffer.compare(a.body, b.body) === 0 && Buffer.compare(a.signature, b.signature) === 0;
}
