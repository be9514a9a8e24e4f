import { createHash, createPublicKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { memberIdOf } from './memberId.ts';

// The P-256 public key of RFC 7515, appendix A.3.
const key = createPublicKey({
  format: 'jwk',
  key: {
    kty: 'EC',
    crv: 'P-256',
    x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
    y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
  },
});

/** RFC 4648 base32 the slow way: the bits of the hash in groups of five. */
function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups.map((group) => 'abcdefghijklmnopqrstuvwxyz234567'[Number.parseInt(group.padEnd(5, '0'), 2)]).join('');
}

test('an id is the base32 SHA-256 of the key and fits a DNS label', () => {
  const hash = createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest();
  expect(memberIdOf(key)).toBe(base32(hash));
  expect(memberIdOf(key)).toMatch(/^[a-z2-7]{52}$/);
});
