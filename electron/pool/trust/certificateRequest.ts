import 'reflect-metadata';
import { createPublicKey, type KeyObject, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { memberIdOf } from '../../wire/memberId.ts';
import type { Identity } from '../identity.ts';
import { PoolError } from '../poolError.ts';

const EC = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' };

/** PKCS #10, DER: asks for a certificate for this machine's key, and proves that the machine holds it. */
export async function createCertificateRequest({ id, privateKey, publicKey }: Identity): Promise<Buffer> {
  const { subtle } = webcrypto;
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: `CN=${id}`,
    signingAlgorithm: SIGNING,
    keys: {
      privateKey: await subtle.importKey('pkcs8', privateKey.export({ type: 'pkcs8', format: 'der' }), EC, false, [
        'sign',
      ]),
      publicKey: await subtle.importKey('spki', publicKey.export({ type: 'spki', format: 'der' }), EC, true, [
        'verify',
      ]),
    },
  });
  return Buffer.from(request.rawData);
}

/** The key that a request (DER) asks for. Throws PoolError('Refused') unless it is P-256 and has signed the request. */
export async function readCertificateRequest(der: Uint8Array): Promise<{ id: string; publicKey: KeyObject }> {
  try {
    const request = new x509.Pkcs10CertificateRequest(Buffer.from(der));
    const publicKey = createPublicKey({ key: Buffer.from(request.publicKey.rawData), format: 'der', type: 'spki' });
    const isP256 = publicKey.asymmetricKeyDetails?.namedCurve === 'prime256v1';
    if (isP256 && (await request.verify())) return { id: memberIdOf(publicKey), publicKey };
  } catch (cause) {
    throw new PoolError('Refused', 'The certificate request cannot be read.', { cause });
  }
  throw new PoolError('Refused', 'The certificate request is not signed by the P-256 key that it is for.');
}
