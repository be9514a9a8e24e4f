import { createHash, type KeyObject, X509Certificate } from 'node:crypto';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * The id of a member: SHA-256 of its public key (SubjectPublicKeyInfo, DER) in base32 (RFC 4648), lower case, without
 * padding. 52 characters, so that it fits a DNS label.
 */
export function memberIdOf(publicKey: KeyObject): string {
  return base32(
    createHash('sha256')
      .update(publicKey.export({ type: 'spki', format: 'der' }))
      .digest(),
  );
}

/** The id of the member that a certificate (DER) was issued to. Its key counts, never its names. */
export function memberIdOfCertificate(der: Uint8Array): string {
  return memberIdOf(new X509Certificate(der).publicKey);
}

function base32(bytes: Uint8Array): string {
  let text = '';
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(buffer >> bits) & 31];
    }
  }
  return bits > 0 ? text + ALPHABET[(buffer << (5 - bits)) & 31] : text;
}
