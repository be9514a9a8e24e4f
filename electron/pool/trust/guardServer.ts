import type { WireServer } from '../../wire/wireServer.ts';
import type { PoolTrust } from './poolTrust.ts';

/**
 * Keeps a server to what its member knows of trust: new certificates are shown, and who is gone is cut off at once. Until the
 * function that it returns is called. The server itself was started with `admits` of the same PoolTrust.
 */
export function guardServer(trust: PoolTrust, server: Pick<WireServer, 'setTls' | 'drop'>): () => void {
  return trust.onChange((event) => {
    if (event.kind === 'PoolChanged' || event.kind === 'CertificateRenewed') server.setTls(trust.tls);
    if (event.kind === 'PoolChanged' || event.kind === 'RosterChanged') for (const id of event.gone) server.drop(id);
  });
}
