import { execFile } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { formatInvite, parseInvite } from '../../electron/pool/trust/inviteToken.ts';
import { eventually } from '../testing/eventually.ts';
import { type TrustMember, TrustRoom } from '../testing/trustMember.ts';

const MINUTE_MS = 60_000;
let room: TrustRoom;

beforeEach(async () => {
  room = await TrustRoom.open();
});

afterEach(async () => {
  await room.close();
});

const names = (member: TrustMember): string[] => member.trust.members.map(({ name }) => name).sort();
const tokenOf = async (member: TrustMember): Promise<string> => (await member.trust.invite()).token;

test('three machines become a pool by tokens; each knows all, and all may speak to all', async () => {
  const [ada, bob, cyd] = await room.pool('ada', 'bob', 'cyd');
  if (bob === undefined || cyd === undefined) throw new Error('the room is too small');
  for (const member of [ada, bob, cyd]) {
    await eventually(() => expect(names(member)).toEqual(['ada', 'bob', 'cyd']));
    expect(member.trust.pool).toMatchObject({ id: ada.trust.pool?.id, name: "ada's pool", admin: member === ada });
  }
  expect(await cyd.greet(bob)).toMatchObject({ member: bob.id });
  expect(await bob.greet(cyd)).toMatchObject({ member: cyd.id });
  expect(ada.events).toContainEqual({ kind: 'MemberJoined', member: cyd.id, addresses: [cyd.server.address] });
  await expect(bob.trust.invite()).rejects.toMatchObject({ kind: 'NotAdmin', message: expect.stringContaining('ada') });
  await expect(bob.trust.create('another')).rejects.toMatchObject({ kind: 'InPool' });
  expect([ada, bob, cyd].flatMap(({ errors }) => errors)).toEqual([]);
});

test('a token works once, also for two that come at the same moment, and the second is told so', async () => {
  const [ada] = await room.pool('ada');
  const [bob, cyd] = [await room.start('bob'), await room.start('cyd')];
  const token = await tokenOf(ada);
  const results = await Promise.allSettled([bob.join(token), cyd.join(token)]);
  const refused = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason);
  expect(refused).toEqual([expect.objectContaining({ kind: 'InviteUsed' })]);
  const late = await room.start('dan');
  await expect(late.join(token)).rejects.toMatchObject({ kind: 'InviteUsed' });
  expect(late.trust.pool).toBeNull();
  expect(ada.trust.members).toHaveLength(2);
});

test('a token expires by the clock of the member that made it, ten minutes on where nothing else was said', async () => {
  const [ada] = await room.pool('ada');
  const bob = await room.start('bob');
  const token = await tokenOf(ada);
  const short = (await ada.trust.invite({ ttlMs: MINUTE_MS })).token;
  expect(parseInvite(token).expiresAtMs - room.now()).toBeLessThanOrEqual(10 * MINUTE_MS);
  room.aheadMs = 2 * MINUTE_MS;
  await expect(bob.join(short)).rejects.toMatchObject({ kind: 'InviteExpired' });
  room.aheadMs = 11 * MINUTE_MS;
  await expect(bob.join(token)).rejects.toMatchObject({ kind: 'InviteExpired' });
  await expect(ada.trust.invite({ ttlMs: 0 })).rejects.toMatchObject({ kind: 'Refused' });
});

test('an invite is pending until it is used, expires or is withdrawn, and its token works no more then', async () => {
  const [ada] = await room.pool('ada');
  const [bob, cyd] = [await room.start('bob'), await room.start('cyd')];
  const [first, second] = [await tokenOf(ada), await tokenOf(ada)];
  expect(ada.trust.openInvites).toHaveLength(2);
  const [, last] = ada.trust.openInvites;
  await ada.trust.withdrawInvite(last?.id ?? '');
  expect(ada.events.filter(({ kind }) => kind === 'InvitesChanged')).toHaveLength(3);
  await expect(bob.join(second)).rejects.toMatchObject({ kind: 'InviteExpired' });
  await expect(ada.trust.withdrawInvite(last?.id ?? '')).rejects.toMatchObject({ kind: 'UnknownInvite' });
  await bob.join(first);
  expect(ada.trust.openInvites).toEqual([]);
  await tokenOf(ada);
  room.aheadMs = 11 * MINUTE_MS;
  expect(ada.trust.openInvites).toEqual([]);
  await expect(bob.trust.withdrawInvite('0')).rejects.toMatchObject({ kind: 'NotAdmin' });
  expect(cyd.trust.openInvites).toEqual([]);
});

test('an altered token is refused, whatever was altered in it, and stays good as it was', async () => {
  const [ada] = await room.pool('ada');
  const bob = await room.start('bob');
  const token = await tokenOf(ada);
  await expect(bob.join(token.slice(0, -1))).rejects.toMatchObject({ kind: 'BadInvite' });
  await expect(bob.join(`${token.slice(0, 40)}A${token.slice(41)}B`)).rejects.toMatchObject({ kind: 'BadInvite' });
  await expect(bob.join('hello')).rejects.toMatchObject({ kind: 'BadInvite' });
  const invite = parseInvite(token);
  // Whoever alters it knowingly makes the checksum right as well.
  const later = { ...invite, expiresAtMs: invite.expiresAtMs + 1 };
  await expect(bob.join(formatInvite(later))).rejects.toMatchObject({ kind: 'BadInvite' });
  const otherName = { ...invite, poolName: 'Payroll' };
  await expect(bob.join(formatInvite(otherName))).rejects.toMatchObject({ kind: 'BadInvite' });
  const otherSecret = { ...invite, secret: Buffer.alloc(16, 7) };
  await expect(bob.join(formatInvite(otherSecret))).rejects.toMatchObject({ kind: 'ForeignInvite' });
  await bob.join(`  roomful://join/${token.replace('roomful1:', '')}\n`);
  expect(names(ada)).toEqual(['ada', 'bob']);
});

test('the token of another pool is refused before anything of it is sent', async () => {
  const [[ada], [eve]] = [await room.pool('ada'), await room.pool('eve')];
  const bob = await room.start('bob');
  const { port } = parseInvite(await tokenOf(eve));
  const misled = formatInvite({ ...parseInvite(await tokenOf(ada)), port });
  await expect(bob.join(misled)).rejects.toMatchObject({ kind: 'ForeignInvite' });
  expect(bob.trust.pool).toBeNull();
  expect(names(eve)).toEqual(['eve']);
});

test('too many wrong tries from one address have to wait, and a good token works afterwards', async () => {
  const [ada] = await room.pool('ada');
  const bob = await room.start('bob');
  const good = await tokenOf(ada);
  const wrong = formatInvite({ ...parseInvite(good), secret: Buffer.alloc(16, 7) });
  const nowMs = room.now();
  room.clock = () => nowMs;
  for (let tries = 0; tries < 10; tries += 1) {
    await expect(bob.join(wrong)).rejects.toMatchObject({ kind: 'ForeignInvite' });
  }
  await expect(bob.join(good)).rejects.toMatchObject({ kind: 'RateLimited' });
  room.aheadMs = MINUTE_MS;
  await bob.join(good);
  expect(names(bob)).toEqual(['ada', 'bob']);
});

test('invites outlive a restart of the member that made them, used ones stay used, and nobody answers once all is over', async () => {
  const [ada, bob] = await room.pool('ada', 'bob');
  const [open, used] = [await tokenOf(ada), await tokenOf(ada)];
  await (await room.start('cyd')).join(used);
  await ada.stop();
  const again = await room.start('ada');
  await again.trust.tend();
  const [dan, eve] = [await room.start('dan'), await room.start('eve')];
  await expect(dan.join(used)).rejects.toMatchObject({ kind: 'InviteUsed' });
  await eve.join(open);
  expect(names(again)).toEqual(['ada', 'bob', 'cyd', 'eve']);
  await eventually(() => expect(bob?.trust.members).toHaveLength(4));
  room.aheadMs = 2 * 24 * 60 * MINUTE_MS;
  await again.trust.tend();
  await expect(dan.join(open)).rejects.toMatchObject({ kind: 'Unreachable' });
});

test('nothing that lies in a data folder can be read by others, or holds the secret of an invite or the text of a token', async () => {
  const [ada] = await room.pool('ada', 'bob');
  const token = await tokenOf(ada);
  const secret = Buffer.from(parseInvite(token).secret);
  const forbidden = [
    token,
    token.slice(9),
    secret.toString('hex'),
    secret.toString('base64'),
    secret.toString('base64url'),
  ];
  let files = 0;
  for (const entry of await readdir(room.folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    files += 1;
    const path = join(entry.parentPath, entry.name);
    expect((await stat(path)).mode & 0o777, path).toBe(0o600);
    const text = await readFile(path, 'utf8');
    for (const word of forbidden) expect(text.includes(word), path).toBe(false);
  }
  expect(files).toBeGreaterThan(10);
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'args=', '-p', String(process.pid)]);
  for (const word of forbidden) expect(stdout.includes(word)).toBe(false);
});
