import type { TlsMaterial } from '../../wire/tlsMaterial.ts';
import { exportPrivateKey, type Identity } from '../identity.ts';
import { newPoolAuthority } from '../poolAuthority.ts';

/** What a machine in no pool speaks with, to itself: certified by a CA that nobody has, made anew by every process. */
export async function soloTls(identity: Identity, now: () => number): Promise<TlsMaterial> {
  const authority = await newPoolAuthority(now);
  return {
    ca: authority.certificate,
    cert: await authority.issueCertificate(identity.publicKey),
    key: exportPrivateKey(identity.privateKey),
  };
}
