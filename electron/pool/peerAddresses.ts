import type { Peer } from './membershipState.ts';
import type { PresenceRecord } from './presenceRecord.ts';
import { formatAddress } from './socketAddress.ts';

type Whereabouts = Pick<Peer, 'addresses' | 'reached' | 'record'>;

/** Where to look for a peer, `host:port` each: where it was last, where others say, where it says itself. */
export function peerAddresses(peer: Whereabouts): string[] {
  const reached = reachedAddress(peer);
  const { record } = peer;
  const told =
    record === null ? [] : record.card.hosts.map((host) => formatAddress({ host, port: record.heartbeatPort }));
  return [...new Set([...(reached === null ? [] : [reached]), ...peer.addresses, ...told])];
}

/** Where a peer was reached last, or would have been had it not been the one to dial; null before the first time. */
export function reachedAddress({ reached, record }: Whereabouts): string | null {
  const port = reached?.port ?? record?.heartbeatPort;
  return reached === null || port === undefined ? null : formatAddress({ host: reached.host, port });
}

/** Where a member says that its control plane is, `host:port` each. */
export function controlAddresses({ card: { hosts, controlPort } }: PresenceRecord): string[] {
  return hosts.map((host) => formatAddress({ host, port: controlPort }));
}
