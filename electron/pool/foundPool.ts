import { openIdentity } from './identity.ts';
import { openPoolAuthority } from './poolAuthority.ts';
import { savePoolCertificate } from './poolCertificate.ts';

/**
 * Makes the members of the given data folders one pool, whose CA is kept in `authorityHome`; for members that one person
 * starts on one machine. Throws PoolError('DamagedFile').
 */
export async function foundPool(authorityHome: string, memberHomes: readonly string[]): Promise<void> {
  const authority = await openPoolAuthority(authorityHome);
  for (const home of memberHomes) {
    const identity = await openIdentity(home);
    const certificate = await authority.issueCertificate(identity.publicKey);
    await savePoolCertificate(home, { ca: authority.certificate, certificate });
  }
}
