import { memberIdOfCertificate } from './memberId.ts';

/** The member at the other end of a call, by its certificate; null when it showed none. */
export function peerOf(call: { getAuthContext(): { sslPeerCertificate?: { raw: Uint8Array } } }): string | null {
  const certificate = call.getAuthContext().sslPeerCertificate;
  return certificate === undefined ? null : memberIdOfCertificate(certificate.raw);
}
