import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { Invite as InviteMessage } from '../../wire/generated/roomful/v1/join.ts';
import { PoolError } from '../poolError.ts';
import { nameSchema } from './names.ts';

const PREFIX = 'roomful1:';
const LINK = 'roomful://join/';
const SECRET_BYTES = 16;
const ID_BYTES = 16;
const CHECKSUM_BYTES = 4;
const MAX_CHARACTERS = 4096;

/** What an invite says. Its secret lets one machine into the pool, once. */
export interface Invite {
  /** The pool's id. */
  pool: string;
  poolName: string;
  secret: Uint8Array;
  /** ms since 1970, by the clock of the member that made it. */
  expiresAtMs: number;
  /** Where that member listens for joins: literal addresses or names, and a port. */
  hosts: readonly string[];
  port: number;
}

/** How a token is known without its secret, and what proves that one holds it. */
export interface InviteKeys {
  id: Buffer;
  /** Made from the secret and from all else that the token says, so that a token that was changed proves nothing. */
  proofKey: Buffer;
}

const messageSchema = z.object({
  pool: z.string().regex(/^[a-z2-7]{52}$/),
  secret: z.instanceof(Uint8Array).refine(({ length }) => length === SECRET_BYTES),
  expiresAtMs: z.int().positive(),
  poolName: nameSchema,
  hosts: z
    .array(z.string().regex(/^[0-9A-Za-z.:_-]{1,253}$/))
    .min(1)
    .max(32),
  port: z.int().min(1).max(65535),
});

export function newInviteSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/** `roomful1:` and base64url of the invite with a checksum. */
export function formatInvite(invite: Invite): string {
  const payload = payloadOf(invite);
  return PREFIX + Buffer.concat([payload, checksum(payload)]).toString('base64url');
}

/** The link that carries a token: Roomful opens it and asks before it joins. */
export function inviteLink(token: string): string {
  return token.replace(PREFIX, LINK);
}

/**
 * Reads a token, also from a `roomful://join/` link and with white space around or in it. Throws PoolError('BadInvite') for
 * what is none, is cut off or mistyped.
 */
export function parseInvite(text: string): Invite {
  const token = text.replace(/\s/g, '').replace(LINK, PREFIX).replace(`${PREFIX}${PREFIX}`, PREFIX);
  const bad = (why: string, cause?: unknown): PoolError =>
    new PoolError('BadInvite', `${why} Copy the whole token, or ask for a new one.`, { cause });
  if (!token.startsWith(PREFIX)) throw bad('This is no invite token of Roomful.');
  const bytes = Buffer.from(token.slice(PREFIX.length), 'base64url');
  if (token.length > MAX_CHARACTERS || bytes.length <= CHECKSUM_BYTES) throw bad('The invite token is damaged.');
  const payload = bytes.subarray(0, -CHECKSUM_BYTES);
  if (!checksum(payload).equals(bytes.subarray(-CHECKSUM_BYTES))) throw bad('The invite token is damaged.');
  try {
    return messageSchema.parse(InviteMessage.decode(payload));
  } catch (cause) {
    throw bad('The invite token cannot be read.', cause);
  }
}

export function inviteKeys(invite: Invite): InviteKeys {
  const rest = createHash('sha256')
    .update(payloadOf({ ...invite, secret: Buffer.alloc(0) }))
    .digest();
  return {
    id: derive(invite.secret, Buffer.alloc(0), 'id').subarray(0, ID_BYTES),
    proofKey: derive(invite.secret, rest, 'proof'),
  };
}

function derive(secret: Uint8Array, salt: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, `roomful invite 1 ${purpose}`, 32));
}

function payloadOf(invite: Invite): Buffer {
  return Buffer.from(InviteMessage.encode(InviteMessage.fromPartial({ ...invite, hosts: [...invite.hosts] })).finish());
}

function checksum(payload: Uint8Array): Buffer {
  return createHash('sha256').update(payload).digest().subarray(0, CHECKSUM_BYTES);
}
