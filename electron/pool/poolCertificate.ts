import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import type { TlsMaterial } from '../wire/tlsMaterial.ts';
import { exportPrivateKey, type Identity } from './identity.ts';
import { PoolError } from './poolError.ts';
import { readPrivateFile, writePrivateFile } from './privateFile.ts';

const caPath = (home: string): string => join(home, 'pool', 'ca.pem');
const certificatePath = (home: string): string => join(home, 'pool', 'certificate.pem');

/** Keeps what the pool gave this member (`pool/ca.pem` and `pool/certificate.pem`); both PEM. */
export async function savePoolCertificate(home: string, pool: { ca: string; certificate: string }): Promise<void> {
  await writePrivateFile(caPath(home), pool.ca);
  await writePrivateFile(certificatePath(home), pool.certificate);
}

/** What this member's processes speak with. Throws PoolError: 'NotInPool' without a certificate, 'DamagedFile'. */
export async function openTlsMaterial(home: string, identity: Identity): Promise<TlsMaterial> {
  const ca = await readPrivateFile(caPath(home));
  const cert = await readPrivateFile(certificatePath(home));
  if (ca === null || cert === null) {
    throw new PoolError('NotInPool', 'This machine is in no pool yet. Create one, or join with an invite token.');
  }
  let owned: boolean;
  try {
    const certificate = new X509Certificate(cert);
    owned = certificate.checkPrivateKey(identity.privateKey) && certificate.verify(new X509Certificate(ca).publicKey);
  } catch (cause) {
    throw new PoolError('DamagedFile', `${certificatePath(home)} cannot be read. Leave the pool and join again.`, {
      cause,
    });
  }
  if (!owned) {
    const path = certificatePath(home);
    throw new PoolError('DamagedFile', `${path} is not for this machine's key or pool. Leave the pool and join again.`);
  }
  return { ca, cert, key: exportPrivateKey(identity.privateKey) };
}
