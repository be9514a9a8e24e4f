import { randomBytes } from 'node:crypto';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openIdentity } from '../../electron/pool/identity.ts';
import { createCertificateRequest } from '../../electron/pool/trust/certificateRequest.ts';
import { inviteKeys, parseInvite } from '../../electron/pool/trust/inviteToken.ts';
import { readFrame, writeFrame } from '../../electron/pool/trust/joinFrames.ts';
import { channelBinding, joinProof } from '../../electron/pool/trust/joinProof.ts';
import { JoinReply, JoinRequest } from '../../electron/wire/generated/roomful/v1/join.ts';
import { eventually } from '../testing/eventually.ts';
import { type TrustMember, TrustRoom } from '../testing/trustMember.ts';

const MIB = 2 ** 20;
let room: TrustRoom;
let ada: TrustMember;
let bob: TrustMember;
let token: string;
let port: number;

beforeEach(async () => {
  room = await TrustRoom.open();
  [ada] = await room.pool('ada');
  bob = await room.start('bob');
  ({ token } = await ada.trust.invite());
  ({ port } = parseInvite(token));
});

afterEach(async () => {
  await room.close();
});

async function dial(protocol = 'roomful-join/1'): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: [protocol] });
  socket.on('error', () => {});
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('close', reject));
  return socket;
}

async function exchange(socket: TLSSocket, request: Uint8Array): Promise<JoinReply> {
  writeFrame(socket, request);
  return JoinReply.decode(await readFrame(socket, MIB));
}

async function requestOn(socket: TLSSocket): Promise<JoinRequest> {
  const { id, proofKey } = inviteKeys(parseInvite(token));
  const certificateRequest = await createCertificateRequest(await openIdentity(bob.home));
  const proof = joinProof(proofKey, channelBinding(socket), certificateRequest);
  return { inviteId: id, proof, certificateRequest, name: 'bob', addresses: [] };
}

const encode = (request: JoinRequest): Uint8Array => JoinRequest.encode(request).finish();

test('what one connection said is worth nothing on another, and the secret is in none of it', async () => {
  const first = await dial();
  const request = await requestOn(first);
  const bytes = encode(request);
  expect(Buffer.from(bytes).includes(Buffer.from(parseInvite(token).secret))).toBe(false);

  const replayed = await exchange(await dial(), bytes);
  expect(replayed).toMatchObject({ grant: undefined, refusal: { kind: 'BadInvite' } });
  const { grant } = await exchange(first, bytes);
  expect(grant?.certificate).toContain('BEGIN CERTIFICATE');
  const again = await exchange(await dial(), bytes);
  expect(again).toMatchObject({ grant: undefined, refusal: { kind: 'BadInvite' } });
  expect(ada.trust.members).toHaveLength(2);
});

test('a proof is for one certificate request, and the request for a key that its sender holds', async () => {
  const socket = await dial();
  const request = await requestOn(socket);
  const eve = await createCertificateRequest(await openIdentity(`${room.folder}/eve`));
  const swapped = await exchange(socket, encode({ ...request, certificateRequest: eve }));
  expect(swapped.refusal?.kind).toBe('BadInvite');

  const other = await dial();
  const forged = Buffer.from(eve);
  forged.writeUInt8((forged.at(-1) ?? 0) ^ 1, forged.length - 1);
  const { id, proofKey } = inviteKeys(parseInvite(token));
  const proof = joinProof(proofKey, channelBinding(other), forged);
  const answer = await exchange(other, encode({ ...request, inviteId: id, proof, certificateRequest: forged }));
  expect(answer.refusal?.kind).toBe('Refused');
  expect(ada.trust.members).toHaveLength(1);
  await bob.join(token);
});

test('a request that is none is refused in one line, one that never ends is cut, another protocol is not spoken', async () => {
  const socket = await dial();
  expect((await exchange(socket, randomBytes(200))).refusal?.kind).toBe('Refused');
  const endless = await dial();
  const closed = new Promise((resolve) => endless.once('close', resolve));
  endless.write(Buffer.from([0x7f, 0xff, 0xff, 0xff]));
  await closed;
  await expect(dial('h2')).rejects.toBeDefined();
  await bob.join(token);
});

test('silent guests after the handshake are bounded too, and give way to those that speak', async () => {
  const silent = await Promise.all(Array.from({ length: 300 }, () => dial().catch(() => null)));
  await bob.join(token);
  const alive = () => silent.filter((socket) => socket !== null && !socket.destroyed && socket.readyState === 'open');
  await eventually(() => expect(alive().length).toBeLessThanOrEqual(256));
  for (const socket of silent) socket?.destroy();
});
