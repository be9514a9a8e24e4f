export interface AccessRules {
  /** Host names beyond loopback that may stand in the Host header, without port. */
  allowedHosts: readonly string[];
  /** Origins whose pages may call, as browsers send them (`http://localhost:3000`, `app://roomful`). */
  allowedOrigins: readonly string[];
}

const hostPattern = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?$/;

/**
 * True when a request that names `host` was meant for this machine. A page that rebinds its DNS name to 127.0.0.1 still
 * sends that name as Host. The port may be another one: it is where a forwarded port begins.
 */
export function hostIsAllowed(host: string | undefined, rules: AccessRules): boolean {
  const name = hostPattern.exec(host?.toLowerCase() ?? '')?.[1];
  return name !== undefined && (isLoopbackName(name) || rules.allowedHosts.some((one) => one.toLowerCase() === name));
}

/** True for the chosen origins, and for pages that this gateway serves itself on loopback at `port`; undefined serves none. */
export function originIsAllowed(origin: string, port: number | undefined, rules: AccessRules): boolean {
  if (rules.allowedOrigins.includes(origin)) return true;
  const [scheme, host] = origin.toLowerCase().split('://');
  const match = hostPattern.exec(host ?? '');
  if (scheme !== 'http' || match?.[1] === undefined || !isLoopbackName(match[1])) return false;
  return Number(match[2] ?? 80) === port;
}

/** True for an address of this machine itself, IPv4 mapped into IPv6 included. */
export function isLoopbackAddress(address: string | undefined): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address ?? '');
}

function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name === '[::1]' || /^127(\.[0-9]{1,3}){3}$/.test(name);
}
