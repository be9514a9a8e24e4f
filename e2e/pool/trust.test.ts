import { cp, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openIdentity } from '../../electron/pool/identity.ts';
import { sealAuthority } from '../../electron/pool/trust/sealAuthority.ts';
import { askPeer } from '../../electron/pool/trust/trustPeers.ts';
import { MemberClient } from '../../electron/wire/memberClient.ts';
import { WireError } from '../../electron/wire/wireError.ts';
import { eventually } from '../testing/eventually.ts';
import { stageOrder } from '../testing/stageOrder.ts';
import { type TrustMember, TrustRoom } from '../testing/trustMember.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const PASSPHRASE = 'three words and a number 4';
let room: TrustRoom;

beforeEach(async () => {
  room = await TrustRoom.open();
});

afterEach(async () => {
  await room.close();
});

const names = (member: TrustMember): string[] => member.trust.members.map(({ name }) => name).sort();

async function three(): Promise<[TrustMember, TrustMember, TrustMember]> {
  const [ada, bob, cyd] = await room.pool('ada', 'bob', 'cyd');
  if (bob === undefined || cyd === undefined) throw new Error('the room is too small');
  await eventually(() => expect(names(bob)).toHaveLength(3));
  return [ada, bob, cyd];
}

test('a removed member: its streams end on every member, its calls are refused, it hears why, and keeps nothing', async () => {
  const [ada, bob, cyd] = await three();
  const client = cyd.client(bob);
  const running = client.runStage(stageOrder({ epoch: { counter: 1, coordinator: cyd.id } }));
  await running.next();
  const next = running.next();
  const shown = cyd.trust.tls;

  expect(await ada.trust.remove(cyd.id)).toEqual([cyd.id]);
  // On a busy machine the connection may be cut before the reason is read; whoever asks then hears it.
  await expect(next).rejects.toBeInstanceOf(WireError);
  await eventually(() =>
    expect(client.hello({ wireVersion: 1, build: 'b' })).rejects.toMatchObject({ reason: 'NotAdmitted' }),
  );
  client.close();
  await eventually(() => expect(cyd.trust.pool).toBeNull());
  expect(cyd.trust.removal).toMatchObject({ poolName: "ada's pool" });
  expect(names(ada)).toEqual(['ada', 'bob']);
  expect(bob.events).toContainEqual({ kind: 'RosterChanged', come: [], gone: [cyd.id] });
  expect(await readdir(join(cyd.home, 'pool'))).toEqual(['removed.json']);
  // Even with the certificate that it had, which is good for months.
  expect(shown.cert).not.toBe(cyd.trust.tls.cert);
  const stubborn = new MemberClient({ address: bob.server.address, member: bob.id, tls: shown });
  await expect(stubborn.hello({ wireVersion: 1, build: 'b' })).rejects.toMatchObject({ reason: 'NotAdmitted' });
  stubborn.close();

  await cyd.join((await ada.trust.invite()).token);
  expect(cyd.trust.removal).toBeNull();
  await eventually(async () => expect(await cyd.greet(bob)).toMatchObject({ member: bob.id }));
});

test('who was removed while it was away hears so from anybody, and its old roster brings nobody back', async () => {
  const [ada, bob, cyd] = await three();
  await cyd.stop();
  await ada.trust.remove(cyd.id);
  await eventually(() => expect(names(bob)).toEqual(['ada', 'bob']));
  const back = await room.start('cyd');
  expect(names(back)).toEqual(['ada', 'bob', 'cyd']);
  await back.trust.syncWith({ id: bob.id, address: bob.server.address });
  expect(back.trust.pool).toBeNull();
  expect(back.events).toContainEqual({ kind: 'PoolChanged', why: 'Removed', gone: expect.arrayContaining([bob.id]) });
  expect(names(bob)).toEqual(['ada', 'bob']);
});

test('a newcomer that a member has not heard of yet is let in by the roster that it brings', async () => {
  const [ada, bob] = await room.pool('ada', 'bob');
  if (bob === undefined) throw new Error('the room is too small');
  bob.reachable = false;
  const cyd = await room.start('cyd');
  await cyd.join((await ada.trust.invite()).token);
  await expect(cyd.greet(bob)).rejects.toMatchObject({ reason: 'NotAdmitted' });
  await cyd.trust.syncWith({ id: bob.id, address: bob.server.address });
  expect(await cyd.greet(bob)).toMatchObject({ member: bob.id });
  bob.reachable = true;
});

test('only admins remove; nobody removes itself or a stranger', async () => {
  const [ada, bob, cyd] = await three();
  await expect(bob.trust.remove(cyd.id)).rejects.toMatchObject({ kind: 'NotAdmin' });
  await expect(ada.trust.remove(ada.id)).rejects.toMatchObject({ kind: 'Refused' });
  await expect(ada.trust.remove('nobody')).rejects.toMatchObject({ kind: 'UnknownMember' });
  expect(names(ada)).toHaveLength(3);
});

test('leaving tells the others, and leaves nothing behind; the last admin is asked first', async () => {
  const [ada, bob, cyd] = await three();
  await cyd.trust.leave();
  expect(cyd.trust.pool).toBeNull();
  expect(cyd.trust.removal).toBeNull();
  await eventually(() => expect(names(bob)).toEqual(['ada', 'bob']));
  await expect(ada.trust.leave()).rejects.toMatchObject({ kind: 'LastAdmin' });
  await ada.trust.promote(bob.id);
  await ada.trust.leave();
  await eventually(() => expect(names(bob)).toEqual(['bob']));
  await expect(stat(join(ada.home, 'pool', 'ca-key.pem'))).rejects.toMatchObject({ code: 'ENOENT' });
  await bob.trust.leave();
  expect(bob.trust.pool).toBeNull();
});

test('a promoted member does all that an admin does, and what both do at once comes together', async () => {
  const [ada, bob, cyd] = await three();
  await ada.trust.promote(bob.id);
  expect(bob.trust.pool).toMatchObject({ admin: true });
  await eventually(() => expect(cyd.trust.members.filter(({ admin }) => admin)).toHaveLength(2));
  expect((await stat(join(bob.home, 'pool', 'ca-key.pem'))).mode & 0o777).toBe(0o600);
  const dan = await room.start('dan');
  await dan.join((await bob.trust.invite()).token);
  await Promise.all([ada.trust.renamePool('Attic'), bob.trust.remove(cyd.id), ada.trust.rename('Ada L.')]);
  await eventually(() => {
    for (const member of [ada, bob, dan]) {
      expect(names(member)).toEqual(['Ada L.', 'bob', 'dan']);
      expect(member.trust.pool?.name).toBe('Attic');
    }
  });
});

test("the pool's key is taken from admins only, and is sealed for one member", async () => {
  const [ada, bob, cyd] = await three();
  const to = { id: bob.id, address: bob.server.address };
  const { publicKey } = await openIdentity(bob.home);
  const pool = ada.trust.pool?.id ?? '';
  const made = sealAuthority('-----BEGIN PRIVATE KEY-----', pool, publicKey);
  await expect(askPeer(cyd.trust.tls, to, (client) => client.takeAuthority(made))).rejects.toMatchObject({
    kind: 'NotAdmin',
  });
  const forCyd = sealAuthority('key', pool, (await openIdentity(cyd.home)).publicKey);
  await expect(askPeer(ada.trust.tls, to, (client) => client.takeAuthority(forCyd))).rejects.toMatchObject({
    kind: 'Refused',
  });
  expect(bob.trust.pool?.admin).toBe(false);
});

test('an exported key brings a pool back whose admins are gone, with the right passphrase only', async () => {
  const [ada, bob, cyd] = await three();
  await expect(ada.trust.exportAuthority('short')).rejects.toMatchObject({ kind: 'WrongPassphrase' });
  await expect(bob.trust.exportAuthority(PASSPHRASE)).rejects.toMatchObject({ kind: 'NotAdmin' });
  const file = await ada.trust.exportAuthority(PASSPHRASE);
  expect(file).not.toContain('PRIVATE KEY');
  await ada.stop();

  const eve = await room.start('eve');
  await expect(eve.trust.importAuthority(file, 'another passphrase')).rejects.toMatchObject({
    kind: 'WrongPassphrase',
  });
  const renamed = file.replace("ada's pool", "eve's pool");
  await expect(eve.trust.importAuthority(renamed, PASSPHRASE)).rejects.toMatchObject({ kind: 'WrongPassphrase' });
  await expect(eve.trust.importAuthority('{}', PASSPHRASE)).rejects.toMatchObject({ kind: 'BadExport' });
  await eve.trust.importAuthority(file, PASSPHRASE);
  expect(names(eve)).toEqual(['ada', 'bob', 'cyd', 'eve']);
  for (const other of [bob, cyd]) await eve.trust.syncWith({ id: other.id, address: other.server.address });
  expect(await bob.greet(eve)).toMatchObject({ member: eve.id });
  await cyd.trust.importAuthority(file, PASSPHRASE);
  await cyd.trust.remove(eve.id);
  await eventually(() => expect(names(bob)).toEqual(['ada', 'bob', 'cyd']));

  const [zoe] = await room.pool('zoe');
  await expect(zoe.trust.importAuthority(file, PASSPHRASE)).rejects.toMatchObject({ kind: 'InPool' });
});

test('certificates renew themselves a month before their end, and servers show the new ones', async () => {
  // Made in the past, for TLS goes by the clock of this machine.
  room.aheadMs = -61 * DAY_MS;
  const [ada, bob, cyd] = await three();
  const before = [ada, bob].map(({ trust }) => trust.pool?.certificateUntilMs ?? 0);
  room.aheadMs = -2 * DAY_MS;
  for (const { trust } of [ada, bob]) await trust.tend();
  expect([ada, bob].map(({ trust }) => trust.pool?.certificateUntilMs)).toEqual(before);
  room.aheadMs = 0;
  cyd.reachable = false;
  for (const { trust } of [ada, bob]) await trust.tend();
  for (const [index, { trust, events }] of [ada, bob].entries()) {
    expect((trust.pool?.certificateUntilMs ?? 0) - (before[index] ?? 0)).toBeGreaterThan(60 * DAY_MS);
    expect(events).toContainEqual({ kind: 'CertificateRenewed' });
  }
  expect(await bob.greet(ada)).toMatchObject({ member: ada.id });
  const seen = await shownBy(bob, ada);
  expect(Date.parse(seen)).toBe(ada.trust.pool?.certificateUntilMs);
  cyd.reachable = true;
});

test('a name that no admin could write down is written down later, and is kept over a restart', async () => {
  const [ada, bob, cyd] = await three();
  ada.reachable = false;
  await bob.trust.rename('  Bob’s laptop ');
  expect(bob.trust.self.name).toBe('Bob’s laptop');
  expect(names(cyd)).toContain('bob');
  ada.reachable = true;
  await bob.trust.tend();
  await eventually(() => expect(names(cyd)).toContain('Bob’s laptop'));
  await expect(bob.trust.rename('a\nb')).rejects.toMatchObject({ kind: 'BadName' });
  await bob.stop();
  expect((await room.start('bob', 'other')).trust.self.name).toBe('Bob’s laptop');
});

test('two members with copied data folders are told apart: the copy takes a key of its own and stays in the pool', async () => {
  const [ada, bob] = await room.pool('ada', 'bob');
  if (bob === undefined) throw new Error('the room is too small');
  await cp(bob.home, join(room.folder, 'copy'), { recursive: true });
  const copy = await room.start('copy');
  expect(copy.id).toBe(bob.id);
  expect(await bob.trust.checkTwin(bob.server.address)).toBe('Same');
  expect(await bob.trust.checkTwin(copy.server.address)).toBe('Stay');
  await eventually(() => expect(copy.id).not.toBe(bob.id));
  expect(copy.events).toContainEqual({ kind: 'PoolChanged', why: 'Rekeyed', gone: [] });
  await eventually(() => expect(names(bob)).toEqual(['ada', 'bob', 'bob']));
  expect(await copy.greet(bob)).toMatchObject({ member: bob.id });
  expect(await bob.greet(copy)).toMatchObject({ member: copy.id });
  const { id } = copy;
  await copy.stop();
  expect((await room.start('copy')).id).toBe(id);
  expect((await ada.trust.remove(bob.id)).sort()).toEqual([bob.id, id].sort());
});

test('a machine in no pool with a copied key takes another one when it joins beside the first', async () => {
  const [ada] = await room.pool('ada');
  const [bob] = [await room.start('bob')];
  await cp(bob.home, join(room.folder, 'copy'), { recursive: true });
  const copy = await room.start('copy');
  await bob.join((await ada.trust.invite()).token);
  expect(copy.id).toBe(bob.id);
  await copy.join((await ada.trust.invite()).token);
  expect(copy.id).not.toBe(bob.id);
  expect(names(ada)).toEqual(['ada', 'bob', 'copy']);
});

/** When the certificate that a member's server shows to another ends. */
async function shownBy(asking: TrustMember, asked: TrustMember): Promise<string> {
  const { cert, key, ca } = asking.trust.tls;
  const { hostname, port } = new URL(`tcp://${asked.server.address}`);
  const options = { cert, key, ca, ALPNProtocols: ['h2'], checkServerIdentity: () => undefined };
  const socket = connect({ host: hostname, port: Number(port), ...options });
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  const until = socket.getPeerCertificate().valid_to;
  socket.destroy();
  return until;
}
