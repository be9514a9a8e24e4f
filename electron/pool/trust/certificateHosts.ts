import { X509Certificate } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { PoolError } from '../poolError.ts';

const MOST_HOSTS = 32;

/** Addresses that no server of the internet has. */
const local = new BlockList();
for (const [net, bits] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
] as const) {
  local.addSubnet(net, bits, 'ipv4');
}
local.addSubnet('fc00::', 7, 'ipv6');
local.addSubnet('fe80::', 10, 'ipv6');
local.addAddress('::1', 'ipv6');

/**
 * The hosts that a certificate of a pool may hold: addresses of a local network, names without a dot or below `.local`.
 * Whoever trusts the pool's CA must not come to trust a member with the name of a site.
 *
 * @throws PoolError('Refused') that names the host.
 */
export function checkHosts(hosts: readonly string[]): readonly string[] {
  if (hosts.length > MOST_HOSTS) throw new PoolError('Refused', `A certificate holds at most ${MOST_HOSTS} hosts.`);
  const foreign = hosts.find((host) => !isLocal(host));
  if (foreign === undefined) return hosts;
  throw new PoolError('Refused', `A pool's certificate cannot hold ${foreign.slice(0, 100)}: it is no local address.`);
}

/** Whether a host may stand in a certificate of a pool. */
export function isLocal(host: string): boolean {
  const family = isIP(host);
  if (family !== 0) return local.check(host, family === 4 ? 'ipv4' : 'ipv6');
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.local)?$/.test(host);
}

/** Whether a certificate (PEM) holds all of these. */
export function holdsHosts(certificate: string, hosts: readonly string[]): boolean {
  const parsed = new X509Certificate(certificate);
  return hosts.every((host) => (isIP(host) === 0 ? parsed.checkHost(host) : parsed.checkIP(host)) !== undefined);
}
