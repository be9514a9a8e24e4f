import type { ServiceError } from '@grpc/grpc-js';
import { clientOptions } from './channelOptions.ts';
import { channelCredentials } from './credentials.ts';
import { HeartbeatsClient } from './generated/roomful/v1/heartbeat.ts';
import { HeartbeatLink } from './heartbeatLink.ts';
import { wireErrorOf } from './refusal.ts';
import type { TlsMaterial } from './tlsMaterial.ts';
import { WrongPeer } from './wireError.ts';

export interface DialOptions {
  /** `host:port`, of the peer's heartbeat. */
  address: string;
  member: string;
  tls: TlsMaterial;
  /** Gives the dial up. */
  signal: AbortSignal;
}

/** Opens a link to a member, on a connection of its own. Rejects with a WireError. */
export function dialHeartbeat({ address, member, tls, signal }: DialOptions): Promise<HeartbeatLink> {
  let wrongPeer: string | null = null;
  const credentials = channelCredentials(tls, member, (found) => {
    wrongPeer = found;
  });
  const client = new HeartbeatsClient(address, credentials, clientOptions);
  const call = client.beats();
  const cut = (): void => {
    call.cancel();
    client.close();
  };
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      call.cancel();
    };
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    call.once('metadata', () => {
      signal.removeEventListener('abort', abort);
      const colon = address.lastIndexOf(':');
      const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
      resolve(new HeartbeatLink(member, { host, port: Number(address.slice(colon + 1)) }, call, cut));
    });
    call.on('error', (cause: ServiceError) => {
      signal.removeEventListener('abort', abort);
      client.close();
      const what = { what: `Finding ${member}`, address, up: false, timeoutMs: 0 };
      reject(wrongPeer === null ? wireErrorOf(cause, what) : new WrongPeer(address, member, wrongPeer, { cause }));
    });
  });
}
