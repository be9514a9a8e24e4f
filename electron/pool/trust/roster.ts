import type { SignedEntry } from '../../wire/generated/roomful/v1/roster.ts';

/** How a member stands to the pool. */
export type Standing = 'in' | 'left' | 'removed';

/** What the pool's CA has signed about a member. */
export interface MemberEntry {
  readonly subject: 'member';
  readonly version: number;
  /** ms since 1970, by the clock of the admin who signed. */
  readonly signedAtMs: number;
  readonly id: string;
  /** SubjectPublicKeyInfo, DER; `id` is its hash. */
  readonly publicKey: Uint8Array;
  readonly name: string;
  /** Whether the member holds the CA key. */
  readonly admin: boolean;
  readonly standing: Standing;
  /** How often the member has come into the pool, from 1. */
  readonly term: number;
  /** The member whose copied data folder this one came from. */
  readonly origin: string | null;
  readonly signed: SignedEntry;
}

/** What the pool's CA has signed about the pool itself. */
export interface PoolEntry {
  readonly subject: 'pool';
  readonly version: number;
  readonly signedAtMs: number;
  readonly name: string;
  readonly signed: SignedEntry;
}

export type Entry = MemberEntry | PoolEntry;

/** Who belongs to a pool, and who no longer does: the newest entry about each. Never changed, only replaced. */
export interface Roster {
  /** Null until an entry about the pool has come. */
  readonly pool: PoolEntry | null;
  /** By id, with those that have left or were removed. */
  readonly members: ReadonlyMap<string, MemberEntry>;
}

export const EMPTY_ROSTER: Roster = { pool: null, members: new Map() };

/** The highest version in a roster, 0 for an empty one. */
export function rosterVersion({ pool, members }: Roster): number {
  let version = pool?.version ?? 0;
  for (const entry of members.values()) version = Math.max(version, entry.version);
  return version;
}

export function isMember(roster: Roster, id: string): boolean {
  return roster.members.get(id)?.standing === 'in';
}

/** Those that are in the pool. */
export function membersIn({ members }: Roster): MemberEntry[] {
  return [...members.values()].filter(({ standing }) => standing === 'in');
}

export function entriesOf({ pool, members }: Roster): Entry[] {
  return pool === null ? [...members.values()] : [pool, ...members.values()];
}

/**
 * The roster with the newer of both about each member and the pool. Any order of merging gives the same roster, and
 * entries that are known change nothing: then `mine` itself is returned. Within a term, gone is final: an admin who had not
 * heard of a removal cannot undo it by signing something later; only a new term, from a new invite, can.
 */
export function mergeRoster(mine: Roster, entries: Iterable<Entry>): Roster {
  let pool = mine.pool;
  let members: Map<string, MemberEntry> | null = null;
  for (const entry of entries) {
    if (entry.subject === 'pool') {
      if (pool === null || comparePool(entry, pool) > 0) pool = entry;
      continue;
    }
    const known = (members ?? mine.members).get(entry.id);
    if (known !== undefined && compareMember(entry, known) <= 0) continue;
    members ??= new Map(mine.members);
    members.set(entry.id, entry);
  }
  if (members === null && pool === mine.pool) return mine;
  return { pool, members: members ?? mine.members };
}

function comparePool(a: PoolEntry, b: PoolEntry): number {
  return a.version - b.version || compareSigned(a, b);
}

function compareMember(a: MemberEntry, b: MemberEntry): number {
  return (
    a.term - b.term ||
    Number(a.standing !== 'in') - Number(b.standing !== 'in') ||
    a.version - b.version ||
    compareSigned(a, b)
  );
}

/** Two admins that were cut off from each other may sign the same version; then any rule does that all share. */
function compareSigned(a: Entry, b: Entry): number {
  return Buffer.compare(a.signed.body, b.signed.body);
}
