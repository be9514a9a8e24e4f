import { isIPv6 } from 'node:net';
import type { Peer } from './membershipState.ts';

type Whereabouts = Pick<Peer, 'addresses' | 'reached' | 'record'>;

/** Where to look for a peer, `host:port` each: where it was last, where others say, where it says itself. */
export function peerAddresses(peer: Whereabouts): string[] {
  const reached = reachedAddress(peer);
  const { record } = peer;
  const told = record === null ? [] : record.card.hosts.map((host) => addressOf(host, record.heartbeatPort));
  return [...new Set([...(reached === null ? [] : [reached]), ...peer.addresses, ...told])];
}

/** Where a peer was reached last, or would have been had it not been the one to dial; null before the first time. */
export function reachedAddress({ reached, record }: Whereabouts): string | null {
  const port = reached?.port ?? record?.heartbeatPort;
  return reached === null || port === undefined ? null : addressOf(reached.host, port);
}

function addressOf(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
