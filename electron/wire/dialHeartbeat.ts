import { clientOptions } from './channelOptions.ts';
import { HeartbeatsClient } from './generated/roomful/v1/heartbeat.ts';
import { HeartbeatLink } from './heartbeatLink.ts';
import { type Peer, PeerCalls } from './peerCalls.ts';

/** Opens a link to a member's heartbeat, on a connection of its own. `signal` gives it up. Rejects with a WireError. */
export function dialHeartbeat(peer: Peer, signal: AbortSignal): Promise<HeartbeatLink> {
  const { address, member } = peer;
  const calls = new PeerCalls(peer);
  const client = new HeartbeatsClient(address, calls.credentials, clientOptions);
  const call = client.beats();
  const abort = (): void => call.cancel();
  const cut = (): void => {
    call.cancel();
    client.close();
  };
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    call.once('metadata', () => {
      signal.removeEventListener('abort', abort);
      const colon = address.lastIndexOf(':');
      const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
      resolve(new HeartbeatLink(member, { host, port: Number(address.slice(colon + 1)) }, call, cut));
    });
    call.on('error', (cause) => {
      signal.removeEventListener('abort', abort);
      client.close();
      reject(calls.errorOf(cause, { what: `Reaching ${member}`, up: false, timeoutMs: 0 }));
    });
  });
}
