import { isIP, isIPv6 } from 'node:net';

/** A literal address and a port. */
export interface SocketAddress {
  /** IPv4 or IPv6, the latter without brackets; a link-local one may carry its zone (`fe80::1%eth0`). */
  host: string;
  port: number;
}

/** `host:port`, IPv6 in brackets: as gRPC and people write it. */
export function formatAddress({ host, port }: SocketAddress): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Reads what formatAddress writes; null when it is no literal address with a port. */
export function parseAddress(text: string): SocketAddress | null {
  const match = /^(?:\[([^[\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2] ?? '';
  const port = Number(match?.[3]);
  const bracketed = match?.[1] !== undefined;
  if (isIP(host) !== (bracketed ? 6 : 4) || port < 1 || port > 65_535) return null;
  return { host, port };
}
