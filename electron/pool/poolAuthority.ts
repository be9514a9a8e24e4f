import 'reflect-metadata';
import type { KeyObject } from 'node:crypto';
import { createPublicKey, randomBytes, webcrypto } from 'node:crypto';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { memberIdOf } from '../wire/memberId.ts';
import { newKey, parsePrivateKey } from './identity.ts';
import { PoolError } from './poolError.ts';
import { createPrivateFile, readPrivateFile } from './privateFile.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const MEMBER_DAYS = 90;
const AUTHORITY_DAYS = 10 * 365;
const EC = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' };

/** The CA of a pool, on the machines that hold its key. */
export interface PoolAuthority {
  /** The CA certificate, PEM. */
  readonly certificate: string;
  /** A certificate, PEM, for the member with this public key: 90 days, and a day back for clocks that are behind. */
  issueCertificate(publicKey: KeyObject): Promise<string>;
}

/**
 * The pool CA kept in a data folder (`pool/ca-key.pem` and `pool/ca.pem`, 0600), made on first use. `now` is the time in
 * ms since 1970. Throws PoolError('DamagedFile').
 */
export async function openPoolAuthority(home: string, now: () => number = Date.now): Promise<PoolAuthority> {
  const keyPath = join(home, 'pool', 'ca-key.pem');
  const certificatePath = join(home, 'pool', 'ca.pem');
  await createUnlessThere(keyPath, async () => newKey());
  const key = parsePrivateKey((await readPrivateFile(keyPath)) ?? '', keyPath);
  await createUnlessThere(certificatePath, () => selfSign(key, now()));
  const certificate = parseCertificate((await readPrivateFile(certificatePath)) ?? '', certificatePath);
  if (memberIdOf(createPublicKey(key)) !== memberIdOf(createPublicKey(certificate.toString('pem')))) {
    throw new PoolError(
      'DamagedFile',
      `${certificatePath} does not belong to ${keyPath}. Restore both from one backup.`,
    );
  }
  return {
    certificate: certificate.toString('pem'),
    issueCertificate: (publicKey) => issue(certificate, key, publicKey, now()),
  };
}

async function createUnlessThere(path: string, make: () => Promise<string>): Promise<void> {
  if ((await readPrivateFile(path)) === null) await createPrivateFile(path, await make());
}

async function selfSign(key: KeyObject, now: number): Promise<string> {
  const keys = { privateKey: await signingKey(key), publicKey: await verifyingKey(createPublicKey(key)) };
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: `CN=Roomful pool ${memberIdOf(createPublicKey(key)).slice(0, 16)}`,
    ...validity(now, AUTHORITY_DAYS),
    signingAlgorithm: SIGNING,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return certificate.toString('pem');
}

async function issue(
  authority: x509.X509Certificate,
  authorityKey: KeyObject,
  publicKey: KeyObject,
  now: number,
): Promise<string> {
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: `CN=${memberIdOf(publicKey)}`,
    issuer: authority.subject,
    ...validity(now, MEMBER_DAYS),
    signingAlgorithm: SIGNING,
    publicKey: await verifyingKey(publicKey),
    signingKey: await signingKey(authorityKey),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(authority.publicKey),
    ],
  });
  return certificate.toString('pem');
}

function validity(now: number, days: number): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(now - DAY_MS), notAfter: new Date(now + days * DAY_MS) };
}

/** Positive, 127 random bits, hexadecimal. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes.writeUInt8(bytes.readUInt8(0) & 0x7f, 0);
  return bytes.toString('hex');
}

function signingKey(key: KeyObject): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey('pkcs8', key.export({ type: 'pkcs8', format: 'der' }), EC, false, ['sign']);
}

function verifyingKey(key: KeyObject): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey('spki', key.export({ type: 'spki', format: 'der' }), EC, true, ['verify']);
}

function parseCertificate(pem: string, path: string): x509.X509Certificate {
  try {
    return new x509.X509Certificate(pem);
  } catch (cause) {
    throw new PoolError('DamagedFile', `${path} holds no certificate. Restore it from a backup.`, { cause });
  }
}
