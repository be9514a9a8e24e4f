import { basename } from 'node:path';
import { type Identity, openIdentity } from './identity.ts';
import { openPoolAuthority } from './poolAuthority.ts';
import { savePlace, tlsOf } from './trust/place.ts';
import { PoolFiles } from './trust/poolFiles.ts';
import { EMPTY_ROSTER, mergeRoster } from './trust/roster.ts';
import { draftNewcomer, draftPoolName } from './trust/rosterDrafts.ts';
import { signMember, signPool } from './trust/rosterEntry.ts';

/**
 * Makes the members of the given data folders one pool, whose CA is kept in `authorityHome`; for members that one person
 * starts on one machine. They are called as their folders are. Throws PoolError('DamagedFile').
 */
export async function foundPool(authorityHome: string, memberHomes: readonly string[]): Promise<void> {
  const authority = await openPoolAuthority(authorityHome);
  const members: { home: string; identity: Identity }[] = [];
  let roster = mergeRoster(EMPTY_ROSTER, [
    signPool(authority, draftPoolName(EMPTY_ROSTER, 'This machine', Date.now())),
  ]);
  for (const home of memberHomes) {
    const identity = await openIdentity(home);
    members.push({ home, identity });
    const publicKey = identity.publicKey.export({ type: 'spki', format: 'der' });
    const newcomer = { id: identity.id, publicKey, name: basename(home), admin: home === authorityHome, origin: null };
    roster = mergeRoster(roster, [signMember(authority, draftNewcomer(roster, newcomer, Date.now()))]);
  }
  for (const { home, identity } of members) {
    const tls = tlsOf(identity, authority.certificate, await authority.issueCertificate(identity.publicKey));
    const held = home === authorityHome ? authority : null;
    await savePlace(home, new PoolFiles(home), { pool: authority.pool, tls, roster, authority: held });
  }
}
