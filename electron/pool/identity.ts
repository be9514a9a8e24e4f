import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { memberIdOf } from '../wire/memberId.ts';
import { PoolError } from './poolError.ts';
import { createPrivateFile, readPrivateFile, writePrivateFile } from './privateFile.ts';

/** The key pair of this machine (EC P-256); its id is the hash of the public key, see memberIdOf. */
export interface Identity {
  readonly id: string;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** The identity kept in a data folder (`identity/key.pem`, 0600), made on first use. Throws PoolError('DamagedFile'). */
export async function openIdentity(home: string): Promise<Identity> {
  const path = keyPath(home);
  let pem = await readPrivateFile(path);
  if (pem === null) {
    pem = newKey();
    // Another process of this home may have been faster; its key stands.
    if (!(await createPrivateFile(path, pem))) pem = await readPrivateFile(path);
  }
  return identityOf(pem ?? '', path);
}

/** An identity that is kept nowhere yet. */
export function newIdentity(): Identity {
  return identityOf(newKey(), 'The new key');
}

/** Makes an identity that of a data folder, in place of the one that it had. */
export async function saveIdentity(home: string, { privateKey }: Identity): Promise<void> {
  await writePrivateFile(keyPath(home), exportPrivateKey(privateKey));
}

/** The PEM (PKCS #8) of a private key. */
export function exportPrivateKey(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** A new EC P-256 private key, PEM. */
export function newKey(): string {
  return exportPrivateKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
}

/** Reads the PEM of an EC P-256 private key; `path` is for the message of PoolError('DamagedFile'). */
export function parsePrivateKey(pem: string, path: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
  } catch (cause) {
    throw damaged(path, { cause });
  }
  throw damaged(path);
}

function keyPath(home: string): string {
  return join(home, 'identity', 'key.pem');
}

function identityOf(pem: string, path: string): Identity {
  const privateKey = parsePrivateKey(pem, path);
  const publicKey = createPublicKey(privateKey);
  return { id: memberIdOf(publicKey), publicKey, privateKey };
}

function damaged(path: string, options?: { cause: unknown }): PoolError {
  return new PoolError(
    'DamagedFile',
    `${path} holds no P-256 key. Restore it from a backup, or remove it to start anew.`,
    options,
  );
}
