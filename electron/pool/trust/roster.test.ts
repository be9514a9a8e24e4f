import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { newIdentity } from '../identity.ts';
import { newPoolAuthority, type PoolAuthority } from '../poolAuthority.ts';
import {
  EMPTY_ROSTER,
  type Entry,
  entriesOf,
  isMember,
  type MemberEntry,
  mergeRoster,
  rosterVersion,
} from './roster.ts';
import { draftChange, draftNewcomer, draftPoolName, draftRemoval, type Newcomer } from './rosterDrafts.ts';
import { readEntries, signMember, signPool } from './rosterEntry.ts';

const NOW_MS = 1_900_000_000_000;
let authority: PoolAuthority;
let other: PoolAuthority;
const keys = [newIdentity(), newIdentity(), newIdentity()].map(({ id, publicKey }) => ({
  id,
  publicKey: new Uint8Array(publicKey.export({ type: 'spki', format: 'der' })),
}));
const [ada, bob, cyd] = keys.map(
  (key, index): Newcomer => ({ ...key, name: `m${index}`, admin: index === 0, origin: null }),
);
if (ada === undefined || bob === undefined || cyd === undefined) throw new Error('three keys are needed');

beforeAll(async () => {
  authority = await newPoolAuthority();
  other = await newPoolAuthority();
});

const join = (roster = EMPTY_ROSTER, who = ada) =>
  mergeRoster(roster, [signMember(authority, draftNewcomer(roster, who, NOW_MS))]);
const by = () => ({ pool: authority.pool, ca: authority.certificate, known: EMPTY_ROSTER });
const signedOf = (entries: Entry[]) => entries.map(({ signed }) => signed);

test('versions grow, and what was signed is read back as it was', () => {
  let roster = join(join(), bob);
  roster = mergeRoster(roster, [signPool(authority, draftPoolName(roster, 'Room 4', NOW_MS))]);
  expect(rosterVersion(roster)).toBe(3);
  expect(mergeRoster(EMPTY_ROSTER, readEntries(signedOf(entriesOf(roster)), by()))).toEqual(roster);
  expect(mergeRoster(roster, entriesOf(roster))).toBe(roster);
});

test('an entry that was changed, signed for another pool, or by another CA is refused', () => {
  const [entry] = signedOf(entriesOf(join()));
  if (entry === undefined) throw new Error('no entry');
  const body = Buffer.from(entry.body);
  body.writeUInt8((body.at(-1) ?? 0) ^ 1, body.length - 1);
  for (const bad of [
    { ...entry, body },
    { ...entry, signature: Buffer.alloc(64) },
    { ...entry, body: Buffer.from('x') },
  ]) {
    expect(() => readEntries([bad], by())).toThrow(expect.objectContaining({ kind: 'BadRoster' }));
  }
  const foreign = signMember(other, draftNewcomer(EMPTY_ROSTER, ada, NOW_MS)).signed;
  expect(() => readEntries([foreign], by())).toThrow(expect.objectContaining({ kind: 'BadRoster' }));
  expect(() => readEntries([entry], { ...by(), pool: other.pool })).toThrow(
    expect.objectContaining({ kind: 'BadRoster' }),
  );
});

test('a removal stands against an admin who had not heard of it, until the member is invited anew', () => {
  const both = join(join(), bob);
  const removed = mergeRoster(
    both,
    draftRemoval(both, bob.id, NOW_MS).map((draft) => signMember(authority, draft)),
  );
  expect(isMember(removed, bob.id)).toBe(false);
  let elsewhere = both;
  for (const name of ['x', 'y', 'z']) {
    elsewhere = mergeRoster(elsewhere, [signMember(authority, draftChange(elsewhere, bob.id, { name }, NOW_MS))]);
  }
  expect(rosterVersion(elsewhere)).toBeGreaterThan(rosterVersion(removed));
  expect(isMember(mergeRoster(removed, entriesOf(elsewhere)), bob.id)).toBe(false);
  expect(isMember(mergeRoster(elsewhere, entriesOf(removed)), bob.id)).toBe(false);
  const again = join(removed, bob);
  expect(again.members.get(bob.id)).toMatchObject({ standing: 'in', term: 2 });
  expect(isMember(mergeRoster(again, entriesOf(elsewhere)), bob.id)).toBe(true);
});

test('with a member go those that came from copies of its folder, whatever the chain', () => {
  const copy = (who: Newcomer, origin: string): Newcomer => ({ ...who, origin });
  const roster = join(join(join(), copy(bob, ada.id)), copy(cyd, bob.id));
  expect(draftRemoval(roster, ada.id, NOW_MS)).toHaveLength(3);
  expect(draftRemoval(roster, cyd.id, NOW_MS)).toHaveLength(1);
  expect(() => draftRemoval(roster, 'nobody', NOW_MS)).toThrow(expect.objectContaining({ kind: 'UnknownMember' }));
});

test('rosters merge to the same whatever the order and however often, and nothing gets older', () => {
  const standing = fc.constantFrom('in' as const, 'left' as const, 'removed' as const);
  const entry = fc.record({
    who: fc.nat(2),
    version: fc.integer({ min: 1, max: 4 }),
    term: fc.integer({ min: 1, max: 3 }),
    standing,
    mark: fc.nat(2),
  });
  const signed = ({
    who,
    version,
    term,
    standing: as,
    mark,
  }: typeof entry extends fc.Arbitrary<infer T> ? T : never): Entry => {
    const { id, publicKey } = keys[who] ?? ada;
    const body = Buffer.from([version, term, as.length, mark]);
    const line = { name: 'm', admin: false, origin: null, signedAtMs: NOW_MS, signed: { body, signature: body } };
    return { subject: 'member', id, publicKey, version, term, standing: as, ...line } satisfies MemberEntry;
  };
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 12 }), fc.array(entry, { maxLength: 12 }), fc.nat(), (a, b, seed) => {
      const [left, right] = [a.map(signed), b.map(signed)];
      const mix = [...left, ...right, ...left].sort(
        (x, y) => ((x.version * 31 + seed) % 7) - ((y.version * 31 + seed) % 7),
      );
      const merged = mergeRoster(mergeRoster(EMPTY_ROSTER, left), right);
      expect(mergeRoster(mergeRoster(EMPTY_ROSTER, right), entriesOf(mergeRoster(EMPTY_ROSTER, left)))).toEqual(merged);
      expect(mergeRoster(EMPTY_ROSTER, mix)).toEqual(merged);
      expect(mergeRoster(merged, mix)).toBe(merged);
      for (const line of [...left, ...right]) {
        const kept = line.subject === 'member' ? merged.members.get(line.id) : undefined;
        const term = line.subject === 'member' ? line.term : 0;
        expect(kept?.term).toBeGreaterThanOrEqual(term);
      }
    }),
  );
});
