import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import type { SealedAuthority } from '../../wire/generated/roomful/v1/trust.ts';
import { PoolError } from '../poolError.ts';

const NONCE_BYTES = 12;

/** Encrypts the key of a pool's CA so that only the member with `publicKey` can read it (ECIES: ECDH, HKDF, AES-256-GCM). */
export function sealAuthority(key: string, pool: string, publicKey: KeyObject): SealedAuthority {
  const ephemeral = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ephemeralKey = spki(ephemeral.publicKey);
  const shared = diffieHellman({ privateKey: ephemeral.privateKey, publicKey });
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', sealKey(shared, ephemeralKey, spki(publicKey), pool), nonce);
  const sealed = Buffer.concat([cipher.update(key, 'utf8'), cipher.final()]);
  return { ephemeralKey, nonce, sealed, tag: cipher.getAuthTag() };
}

/** Reads what sealAuthority made for this key and pool. Throws PoolError('Refused'). */
export function unsealAuthority(sealed: SealedAuthority, pool: string, privateKey: KeyObject): string {
  try {
    const ephemeralKey = Buffer.from(sealed.ephemeralKey);
    const publicKey = createPublicKey({ key: ephemeralKey, format: 'der', type: 'spki' });
    const shared = diffieHellman({ privateKey, publicKey });
    const key = sealKey(shared, ephemeralKey, spki(createPublicKey(privateKey)), pool);
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.nonce, { authTagLength: 16 });
    decipher.setAuthTag(sealed.tag);
    return Buffer.concat([decipher.update(sealed.sealed), decipher.final()]).toString('utf8');
  } catch (cause) {
    throw new PoolError('Refused', "The pool's key was not meant for this member.", { cause });
  }
}

function sealKey(shared: Buffer, ephemeralKey: Buffer, receiverKey: Buffer, pool: string): Buffer {
  const salt = Buffer.concat([ephemeralKey, receiverKey]);
  return Buffer.from(hkdfSync('sha256', shared, salt, `roomful authority 1 ${pool}`, 32));
}

function spki(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' });
}
