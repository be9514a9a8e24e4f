import { isIP } from 'node:net';
import { z } from 'zod';
import { isLinkLocal, type Medium, type NetworkCard } from './networkCard.ts';

/** DNS-SD type (RFC 6763): `_roomful._tcp`. */
export const SERVICE_TYPE = 'roomful';

/** What a member says of itself to everyone on the LAN; nothing of it is secret. Its id is the instance name. */
export interface Announcement {
  /** Fingerprint of the pool's CA. */
  pool: string;
  /** LLAMA_CPP_COMMIT of the member. */
  build: string;
  /** Of the control plane. */
  port: number;
  /** Drawn anew by every process: tells this member's echo from another machine with a copy of its data folder. */
  run: string;
  /** Counts up within a run whenever the addresses change: what carries an older one is out of date. */
  edition: number;
  addresses: readonly AnnouncedAddress[];
}

export interface AnnouncedAddress {
  host: string;
  medium: Medium;
}

/** Addresses in one announcement; each is a string of its own in the TXT record, and all must fit a packet. */
export const MAX_ANNOUNCED_ADDRESSES = 12;

const MEDIUM_LETTERS: Readonly<Record<Medium, string>> = { wired: 'e', wireless: 'w', unknown: 'u' };

/**
 * The addresses of these cards that mean something to others. A record of the system's own resolver would name every
 * card, bridges of containers too; link-local IPv6 ones mean nothing without the receiver's zone, and it sees ours.
 */
export function announcedAddresses(cards: readonly NetworkCard[]): AnnouncedAddress[] {
  const all = cards.flatMap(({ medium, addresses }) =>
    addresses.filter(({ host }) => !host.includes(':') || !isLinkLocal(host)).map(({ host }) => ({ host, medium })),
  );
  return all.slice(0, MAX_ANNOUNCED_ADDRESSES);
}

/** The TXT record: `v`, `pool`, `build`, `port`, `run`, `edition`, and `a0`, `a1`, ... as `MEDIUM,ADDRESS`. */
export function encodeAnnouncement(announcement: Announcement): Record<string, string> {
  const { pool, build, port, run, edition, addresses } = announcement;
  const listed = addresses.map(({ host, medium }, index) => [`a${index}`, `${MEDIUM_LETTERS[medium]},${host}`]);
  const numbers = { port: String(port), edition: String(edition) };
  return { v: '1', pool, build, run, ...numbers, ...Object.fromEntries(listed) };
}

const word = z.string().regex(/^[\w.:-]{1,128}$/);

const textSchema = z.looseObject({
  v: z.literal('1'),
  pool: word,
  build: word,
  port: z.coerce.number().int().min(1).max(65_535),
  run: word,
  edition: z.coerce.number().int().nonnegative(),
});

/** Reads a TXT record as bonjour-service decodes it; null where it is none of ours. Addresses that are none are left out. */
export function decodeAnnouncement(text: unknown): Announcement | null {
  const parsed = textSchema.safeParse(text);
  if (!parsed.success) return null;
  const { pool, build, port, run, edition, ...rest } = parsed.data;
  const addresses: AnnouncedAddress[] = [];
  for (let index = 0; index < MAX_ANNOUNCED_ADDRESSES; index += 1) {
    const address = decodeAddress(rest[`a${index}`]);
    if (address !== null) addresses.push(address);
  }
  return { pool, build, port, run, edition, addresses };
}

function decodeAddress(value: unknown): AnnouncedAddress | null {
  if (typeof value !== 'string') return null;
  const [letter, host = ''] = value.split(',');
  const medium = (['wired', 'wireless', 'unknown'] as const).find((each) => MEDIUM_LETTERS[each] === letter);
  return medium === undefined || isIP(host) === 0 || host.includes('%') ? null : { host, medium };
}
