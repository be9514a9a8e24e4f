import { isIPv6 } from 'node:net';
import type { Reachability } from '../../planner/member.ts';
import { parseAddress } from '../socketAddress.ts';
import { cardsOf, isLinkLocal, type Medium, type NetworkCard } from './networkCard.ts';

/** An address at which a member may be reached. */
export interface Candidate {
  /** `host:port`. */
  address: string;
  /** Of the whole way: wired only if both ends are. */
  medium: Medium;
}

/** What connects two cards: as slow as the slower one. */
export function mediumBetween(one: Medium, other: Medium): Medium {
  if (one === 'wireless' || other === 'wireless') return 'wireless';
  return one === 'wired' && other === 'wired' ? 'wired' : 'unknown';
}

/**
 * The medium of the way from this machine to an address whose card has the medium `far`. Of several cards on its subnet
 * the fastest counts: that is the one that systems prefer.
 */
export function mediumTo(host: string, far: Medium, cards: readonly NetworkCard[]): Medium {
  const near = cardsOf(host, cards).map(({ medium }) => medium);
  return mediumBetween(near.sort((one, other) => MEDIA.indexOf(one) - MEDIA.indexOf(other))[0] ?? 'unknown', far);
}

/** Best first. */
export const MEDIA: readonly Medium[] = ['wired', 'unknown', 'wireless'];

/**
 * Each address once, best first: those on a subnet of this machine, among them wired before wireless; then addresses that
 * stay valid on another link before link-local ones, then IPv4. Equal ones keep their order.
 */
export function rankCandidates(candidates: readonly Candidate[], cards: readonly NetworkCard[]): Candidate[] {
  const best = new Map<string, Candidate>();
  for (const candidate of candidates) {
    const known = best.get(candidate.address);
    if (known === undefined || MEDIA.indexOf(candidate.medium) < MEDIA.indexOf(known.medium)) {
      best.set(candidate.address, candidate);
    }
  }
  const keyed = [...best.values()].map((candidate) => ({ candidate, key: rankOf(candidate, cards) }));
  return keyed.sort((one, other) => compareKeys(one.key, other.key)).map(({ candidate }) => candidate);
}

/** How a dial reached a member: `LocalDirect` on a private or link-local address of a subnet that both share, or on loopback. */
export function reachabilityOf(host: string, cards: readonly NetworkCard[]): Reachability {
  if (isLoopback(host)) return 'LocalDirect';
  return isPrivate(host) && cardsOf(host, cards).length > 0 ? 'LocalDirect' : 'Direct';
}

function rankOf({ address, medium }: Candidate, cards: readonly NetworkCard[]): number[] {
  const host = parseAddress(address)?.host ?? '';
  return [
    cardsOf(host, cards).length > 0 ? 0 : 1,
    MEDIA.indexOf(medium),
    isLinkLocal(host) ? 1 : 0,
    isIPv6(host) ? 1 : 0,
  ];
}

function compareKeys(one: readonly number[], other: readonly number[]): number {
  for (const [index, value] of one.entries()) {
    const difference = value - (other[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function isLoopback(host: string): boolean {
  return host === '::1' || host.startsWith('127.');
}

/** RFC 1918, unique local (RFC 4193), and link-local. */
function isPrivate(host: string): boolean {
  if (isLinkLocal(host)) return true;
  return /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|f[cd][0-9a-f]{2}:)/i.test(host);
}
