import type { TLSSocket } from 'node:tls';
import { type Contact, JoinReply, JoinRequest } from '../../wire/generated/roomful/v1/join.ts';
import type { SignedEntry } from '../../wire/generated/roomful/v1/roster.ts';
import type { Identity } from '../identity.ts';
import { PoolError, type PoolErrorKind } from '../poolError.ts';
import { createCertificateRequest } from './certificateRequest.ts';
import { type Invite, inviteKeys } from './inviteToken.ts';
import { dialInviter } from './joinDial.ts';
import { readFrame, writeFrame } from './joinFrames.ts';
import { channelBinding, joinProof } from './joinProof.ts';
import { isCertificateOf } from './place.ts';

const MAX_REPLY_BYTES = 16 * 2 ** 20;
const REPLY_TIMEOUT_MS = 20_000;

/** What a pool gave to a machine that joined. */
export interface Joined {
  /** PEM. */
  ca: string;
  certificate: string;
  roster: readonly SignedEntry[];
  contacts: readonly Contact[];
}

export interface JoinApplication {
  identity: Identity;
  name: string;
  /** `host:port` at which this machine will be reached. */
  addresses: readonly string[];
  nowMs: number;
}

/**
 * Joins with an invite. The secret of the invite never travels; what does is of use on this one connection only. Throws
 * PoolError that says why not: 'InviteUsed', 'InviteExpired', 'ForeignInvite', 'BadInvite', 'RateLimited', 'IdTaken',
 * 'Unreachable' or 'Refused'.
 */
export async function joinPool(invite: Invite, application: JoinApplication): Promise<Joined> {
  const { identity, name, addresses, nowMs } = application;
  const certificateRequest = await createCertificateRequest(identity);
  const { socket, ca } = await dialInviter(invite, nowMs);
  const timer = setTimeout(() => socket.destroy(), REPLY_TIMEOUT_MS);
  try {
    const { id, proofKey } = inviteKeys(invite);
    const proof = joinProof(proofKey, channelBinding(socket), certificateRequest);
    const request = { inviteId: id, proof, certificateRequest, name, addresses: [...addresses] };
    writeFrame(socket, JoinRequest.encode(request).finish());
    const { grant, refusal } = await readReply(socket);
    if (refusal !== undefined) throw new PoolError(kindOf(refusal.kind), refusal.message);
    if (grant === undefined || !isCertificateOf(grant.certificate, identity, ca)) {
      throw new PoolError('Refused', 'The pool answered with a certificate that is not for this machine.');
    }
    return { ca, certificate: grant.certificate, roster: grant.roster, contacts: grant.contacts };
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

async function readReply(socket: TLSSocket): Promise<JoinReply> {
  try {
    return JoinReply.decode(await readFrame(socket, MAX_REPLY_BYTES));
  } catch (cause) {
    throw new PoolError('Unreachable', 'The inviting member did not answer. Try again.', { cause });
  }
}

const KINDS = ['InviteUsed', 'InviteExpired', 'ForeignInvite', 'BadInvite', 'RateLimited', 'IdTaken'] as const;

function kindOf(kind: string): PoolErrorKind {
  return KINDS.find((known) => known === kind) ?? 'Refused';
}
