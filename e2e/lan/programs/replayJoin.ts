import { connect, type TLSSocket } from 'node:tls';
import { openIdentity } from '../../../electron/pool/identity.ts';
import { createCertificateRequest } from '../../../electron/pool/trust/certificateRequest.ts';
import { inviteKeys, parseInvite } from '../../../electron/pool/trust/inviteToken.ts';
import { readFrame, writeFrame } from '../../../electron/pool/trust/joinFrames.ts';
import { JOIN_PROTOCOL } from '../../../electron/pool/trust/joinListener.ts';
import { channelBinding, joinProof } from '../../../electron/pool/trust/joinProof.ts';
import { JoinReply, JoinRequest } from '../../../electron/wire/generated/roomful/v1/join.ts';

/**
 * Joins by a token (arguments: HOME NAME TOKEN), and sends the same bytes on another connection before and after that. Says
 * what the pool made of the three, as a JSON array: `admitted` or the kind of the refusal.
 */
const [home = '', name = '', token = ''] = process.argv.slice(2);
const invite = parseInvite(token);

async function dial(): Promise<TLSSocket> {
  const [host] = invite.hosts;
  const socket = connect({ host, port: invite.port, rejectUnauthorized: false, ALPNProtocols: [JOIN_PROTOCOL] });
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  return socket;
}

async function send(socket: TLSSocket, request: Uint8Array): Promise<string> {
  writeFrame(socket, request);
  const { grant, refusal } = JoinReply.decode(await readFrame(socket, 2 ** 20));
  return grant === undefined ? (refusal?.kind ?? 'nothing') : 'admitted';
}

const { id, proofKey } = inviteKeys(invite);
const certificateRequest = await createCertificateRequest(await openIdentity(home));
const first = await dial();
const proof = joinProof(proofKey, channelBinding(first), certificateRequest);
const request = JoinRequest.encode({ inviteId: id, proof, certificateRequest, name, addresses: [] }).finish();
const before = await send(await dial(), request);
const real = await send(first, request);
const after = await send(await dial(), request);
process.stdout.write(`${JSON.stringify([before, real, after])}\n`);
process.exit(0);
