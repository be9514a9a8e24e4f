import 'reflect-metadata';
import type { KeyObject } from 'node:crypto';
import { createPublicKey, randomBytes, sign, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { memberIdOf } from '../wire/memberId.ts';
import { exportPrivateKey, newKey, parsePrivateKey } from './identity.ts';
import { PoolError } from './poolError.ts';
import { createPrivateFile, readPrivateFile, writePrivateFile } from './privateFile.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const MEMBER_DAYS = 90;
const AUTHORITY_DAYS = 10 * 365;
const EC = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' };

/** The CA of a pool, on the machines that hold its key. */
export interface PoolAuthority {
  /** The pool's id: the hash of the CA's public key, like a member's. */
  readonly pool: string;
  /** The CA certificate, PEM. */
  readonly certificate: string;
  /**
   * A certificate, PEM, for the member with this public key: 90 days, and a day back for clocks that are behind. Members know
   * each other by their keys; `hosts` (addresses and names) are for programs that know a server by where it is.
   */
  issueCertificate(publicKey: KeyObject, hosts?: readonly string[]): Promise<string>;
  /** ECDSA with SHA-256, IEEE P1363. */
  sign(data: Uint8Array): Buffer;
  /** The private key, PEM (PKCS #8). */
  exportKey(): string;
}

/**
 * The pool CA kept in a data folder (`pool/ca-key.pem` and `pool/ca.pem`, 0600), made on first use. `now` is the time in
 * ms since 1970. Throws PoolError('DamagedFile').
 */
export async function openPoolAuthority(home: string, now: () => number = Date.now): Promise<PoolAuthority> {
  const { keyPath, certificatePath } = pathsOf(home);
  await createUnlessThere(keyPath, async () => newKey());
  const key = parsePrivateKey((await readPrivateFile(keyPath)) ?? '', keyPath);
  await createUnlessThere(certificatePath, () => selfSign(key, now()));
  return authorityOf(key, (await readPrivateFile(certificatePath)) ?? '', certificatePath, now);
}

/** The pool CA kept in a data folder, null where its key is not held. Throws PoolError('DamagedFile'). */
export async function readPoolAuthority(home: string, now: () => number = Date.now): Promise<PoolAuthority | null> {
  const { keyPath, certificatePath } = pathsOf(home);
  const pem = await readPrivateFile(keyPath);
  if (pem === null) return null;
  return authorityOf(
    parsePrivateKey(pem, keyPath),
    (await readPrivateFile(certificatePath)) ?? '',
    certificatePath,
    now,
  );
}

/** A CA that is kept nowhere yet. */
export async function newPoolAuthority(now: () => number = Date.now): Promise<PoolAuthority> {
  const key = parsePrivateKey(newKey(), 'The new CA');
  return importPoolAuthority(exportPrivateKey(key), await selfSign(key, now()), now);
}

/** The CA of this private key and certificate, PEM. Throws PoolError('DamagedFile') when they are not that. */
export function importPoolAuthority(key: string, certificate: string, now: () => number = Date.now): PoolAuthority {
  const where = 'What was brought in';
  return authorityOf(parsePrivateKey(key, where), certificate, where, now);
}

/** Keeps the key of a CA in a data folder, as readPoolAuthority finds it; the certificate is the pool's, and lies there too. */
export async function savePoolAuthority(home: string, authority: PoolAuthority): Promise<void> {
  await writePrivateFile(pathsOf(home).keyPath, authority.exportKey());
}

function pathsOf(home: string): { keyPath: string; certificatePath: string } {
  return { keyPath: join(home, 'pool', 'ca-key.pem'), certificatePath: join(home, 'pool', 'ca.pem') };
}

/** `where` the certificate was found is for messages. */
function authorityOf(key: KeyObject, pem: string, where: string, now: () => number): PoolAuthority {
  const certificate = parseCertificate(pem, where);
  const pool = memberIdOf(createPublicKey(key));
  if (pool !== memberIdOf(createPublicKey(certificate.toString('pem')))) {
    throw new PoolError(
      'DamagedFile',
      `${where} has a CA certificate that is not for its key. Restore both from one backup.`,
    );
  }
  return {
    pool,
    certificate: certificate.toString('pem'),
    issueCertificate: (publicKey, hosts = []) => issue(certificate, key, { publicKey, hosts }, now()),
    sign: (data) => sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' }),
    exportKey: () => exportPrivateKey(key),
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
  { publicKey, hosts }: { publicKey: KeyObject; hosts: readonly string[] },
  now: number,
): Promise<string> {
  const names = hosts.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value }));
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
      ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
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
