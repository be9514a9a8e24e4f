import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { TLSSocket } from 'node:tls';

/** RFC 9266: what both ends of one TLS 1.3 connection know, nobody else, and no other connection has. */
const EXPORTER_LABEL = 'EXPORTER-Channel-Binding';
const EXPORTER_BYTES = 32;
const DOMAIN = 'roomful join 1';

/** What a proof is bound to: this connection, made of fresh keys of both sides. */
export function channelBinding(socket: TLSSocket): Buffer {
  return socket.exportKeyingMaterial(EXPORTER_BYTES, EXPORTER_LABEL, Buffer.alloc(0));
}

/**
 * Shows that one holds the invite with `proofKey`, on the connection of `binding`, for this certificate request. Of no use
 * on another connection, or for another machine.
 */
export function joinProof(proofKey: Uint8Array, binding: Uint8Array, request: Uint8Array): Buffer {
  return createHmac('sha256', proofKey)
    .update(DOMAIN)
    .update(createHash('sha256').update(binding).digest())
    .update(createHash('sha256').update(request).digest())
    .digest();
}

export function isJoinProof(proof: Uint8Array, expected: Uint8Array): boolean {
  return proof.length === expected.length && timingSafeEqual(proof, expected);
}
