import { createPublicKey, X509Certificate } from 'node:crypto';
import type { SignedEntry } from '../../wire/generated/roomful/v1/roster.ts';
import { memberIdOf } from '../../wire/memberId.ts';
import type { TlsMaterial } from '../../wire/tlsMaterial.ts';
import { exportPrivateKey, type Identity } from '../identity.ts';
import { type PoolAuthority, readPoolAuthority, savePoolAuthority } from '../poolAuthority.ts';
import { openTlsMaterial, savePoolCertificate } from '../poolCertificate.ts';
import { PoolError } from '../poolError.ts';
import type { PoolFiles } from './poolFiles.ts';
import { EMPTY_ROSTER, entriesOf, mergeRoster, type Roster } from './roster.ts';
import { readEntries } from './rosterEntry.ts';

/** The place of this machine in a pool. Never changed, only replaced. */
export interface Place {
  /** The pool's id. */
  readonly pool: string;
  readonly tls: TlsMaterial;
  readonly roster: Roster;
  /** Held by admins. */
  readonly authority: PoolAuthority | null;
}

/** The place that a data folder holds, null where it holds none. Throws PoolError('DamagedFile'). */
export async function readPlace(
  home: string,
  files: PoolFiles,
  identity: Identity,
  now: () => number,
): Promise<Place | null> {
  let tls: TlsMaterial;
  try {
    tls = await openTlsMaterial(home, identity);
  } catch (cause) {
    if (cause instanceof PoolError && cause.kind === 'NotInPool') return null;
    throw cause;
  }
  const pool = memberIdOf(createPublicKey(tls.ca));
  const roster = rosterOf(await files.readRoster(), { pool, ca: tls.ca });
  return { pool, tls, roster, authority: await readPoolAuthority(home, now) };
}

/** Keeps a whole place in a data folder, the certificate last: until then the machine is in no pool. */
export async function savePlace(home: string, files: PoolFiles, { tls, roster, authority }: Place): Promise<void> {
  await files.clear();
  await files.writeRoster(entriesOf(roster).map(({ signed }) => signed));
  if (authority !== null) await savePoolAuthority(home, authority);
  await savePoolCertificate(home, { ca: tls.ca, certificate: tls.cert });
  await files.writeRemoval(null);
}

/** What a machine with this identity speaks with in the pool of that CA; both certificates PEM. */
export function tlsOf(identity: Identity, ca: string, cert: string): TlsMaterial {
  return { ca, cert, key: exportPrivateKey(identity.privateKey) };
}

/** The roster of signed entries, checked against the CA certificate (PEM) of the pool. Throws PoolError('BadRoster'). */
export function rosterOf(entries: readonly SignedEntry[], by: { pool: string; ca: string }): Roster {
  return mergeRoster(EMPTY_ROSTER, readEntries(entries, { ...by, known: EMPTY_ROSTER }));
}

/** Whether a certificate (PEM) is for the key of this identity, and by that CA. */
export function isCertificateOf(certificate: string, { privateKey }: Identity, ca: string): boolean {
  const leaf = new X509Certificate(certificate);
  return leaf.checkPrivateKey(privateKey) && leaf.verify(new X509Certificate(ca).publicKey);
}
