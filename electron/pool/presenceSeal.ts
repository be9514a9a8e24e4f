import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { PresenceRecord, type SignedPresence } from '../wire/generated/roomful/v1/heartbeat.ts';
import { memberIdOf, memberIdOfCertificate } from '../wire/memberId.ts';
import type { TlsMaterial } from '../wire/tlsMaterial.ts';

const DOMAIN = 'roomful presence 1';
const ENCODING = 'ieee-p1363';

/**
 * Signs what a member says of itself, so that the others can hand it on and none can say it in its place. The key comes
 * along: a member's id is its hash, so nothing else is needed to check it. Good for one pool only.
 */
export class PresenceSeal {
  readonly #pool: string;
  readonly #key: KeyObject;
  readonly #publicKey: Buffer;

  constructor({ ca, key }: TlsMaterial) {
    this.#pool = memberIdOfCertificate(Buffer.from(ca));
    this.#key = createPrivateKey(key);
    this.#publicKey = createPublicKey(this.#key).export({ type: 'spki', format: 'der' });
  }

  seal(record: PresenceRecord): SignedPresence {
    const body = Buffer.from(PresenceRecord.encode(record).finish());
    const signature = sign('sha256', this.#signedBytes(body), { key: this.#key, dsaEncoding: ENCODING });
    return { body, publicKey: this.#publicKey, signature };
  }

  /** Whether the member itself has signed it, for this pool. */
  isBy(member: string, { body, publicKey, signature }: SignedPresence): boolean {
    try {
      const key = createPublicKey({ key: Buffer.from(publicKey), type: 'spki', format: 'der' });
      if (memberIdOf(key) !== member) return false;
      return verify('sha256', this.#signedBytes(body), { key, dsaEncoding: ENCODING }, signature);
    } catch {
      // No key at all.
      return false;
    }
  }

  #signedBytes(body: Uint8Array): Buffer {
    return Buffer.concat([Buffer.from(`${DOMAIN}\n${this.#pool}\n`), body]);
  }
}
