import { createSecureContext, type PeerCertificate } from 'node:tls';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import { endWhenSilent } from './endWhenSilent.ts';
import { memberIdOfCertificate } from './memberId.ts';
import type { TlsMaterial } from './tlsMaterial.ts';

/**
 * Client side of TLS 1.3 with both ends authenticated. The peer must hold a certificate of the pool CA whose key has the
 * id `expectedMember`; another one is told to `onWrongPeer` and the connection is refused.
 */
export function channelCredentials(
  tls: TlsMaterial,
  expectedMember: string,
  onWrongPeer: (found: string) => void,
): ChannelCredentials {
  const context = createSecureContext({ ca: tls.ca, cert: tls.cert, key: tls.key, minVersion: 'TLSv1.3' });
  const secure = credentials.createFromSecureContext(context, {
    checkServerIdentity: (_host: string, certificate: PeerCertificate): Error | undefined => {
      const found = memberIdOfCertificate(certificate.raw);
      if (found === expectedMember) return undefined;
      onWrongPeer(found);
      return new Error(`member ${expectedMember} was expected but ${found} answered`);
    },
  });
  // grpc-js keeps its sockets to itself; this is where they are made.
  const connectorOf = secure._createSecureConnector.bind(secure);
  secure._createSecureConnector = (...target) => {
    const connector = connectorOf(...target);
    const connect = connector.connect.bind(connector);
    connector.connect = async (socket) => {
      const connected = await connect(socket);
      endWhenSilent(connected.socket);
      return connected;
    };
    return connector;
  };
  return secure;
}
