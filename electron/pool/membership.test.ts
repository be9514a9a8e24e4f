import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../e2e/testing/eventually.ts';
import { type TestMember, TestPool } from '../../e2e/testing/testPool.ts';
import { dialHeartbeat } from '../wire/dialHeartbeat.ts';
import { HeartbeatCodec } from './heartbeatCodec.ts';
import { Membership, type MembershipOptions } from './membership.ts';
import type { MemberCard } from './presenceRecord.ts';

let pool: TestPool;
let running: Membership[];

beforeEach(async () => {
  pool = await TestPool.create();
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map((membership) => membership.stop()));
  await pool.remove();
});

const card: MemberCard = {
  name: 'n',
  build: 'b',
  wireVersion: 1,
  shareBytes: 1,
  pinned: false,
  abstains: false,
  multicast: true,
  hosts: ['127.0.0.1'],
  controlPort: 1,
  rosterVersion: 1,
};

async function start(member: TestMember, options: Partial<MembershipOptions> = {}): Promise<Membership> {
  const { home, id, tls } = member;
  const peers = new Map<string, string[]>();
  const own = { home, member: id, tls, host: '127.0.0.1', port: 0, card, peers };
  const membership = await Membership.start({ ...own, ...options });
  running.push(membership);
  return membership;
}

test('two members meet, tell of themselves, and part', async () => {
  const [a, b] = [await pool.member(), await pool.member()];
  const first = await start(a, { peers: new Map([[b.id, []]]), card: { ...card, pinned: true } });
  const second = await start(b, { peers: new Map([[a.id, [`127.0.0.1:${first.port}`]]]) });
  await eventually(() => {
    for (const each of [first, second]) {
      expect(each.members().map(({ state, linked, self }) => ({ state, linked: linked || self }))).toEqual([
        { state: 'alive', linked: true },
        { state: 'alive', linked: true },
      ]);
      expect(each.coordinator()).toBe(a.id);
    }
  });
  expect(second.epoch()).toEqual({ counter: 1, coordinator: a.id });

  const seen: string[] = [];
  const end = first.onChange(({ members }) => seen.push(members.find(({ id }) => id === b.id)?.card?.name ?? ''));
  second.setCard({ name: 'renamed' });
  await eventually(() => expect(seen).toContain('renamed'));
  end();
  second.noteProgress(a.id);
  await second.leave();
  await eventually(() => expect(first.members().find(({ id }) => id === b.id)?.state).toBe('left'));
  expect(seen).not.toContain('');
});

test('a port that is taken and a damaged file are told in one line', async () => {
  const a = await pool.member();
  const first = await start(a);
  await expect(start(await pool.member(), { port: first.port })).rejects.toMatchObject({
    name: 'HeartbeatFailed',
    message: expect.stringContaining(String(first.port)),
  });
  const damaged = await pool.member();
  await mkdir(join(damaged.home, 'pool'), { recursive: true });
  await writeFile(join(damaged.home, 'pool', 'membership.json'), '{}');
  await expect(start(damaged)).rejects.toThrow('membership.json');
});

test('a port that was only remembered gives way, and the epoch goes on after a restart', async () => {
  const a = await pool.member();
  const first = await start(a);
  await eventually(() => expect(first.epoch()).toEqual({ counter: 1, coordinator: a.id }));
  await first.stop();
  const other = await start(await pool.member(), { port: first.port });
  const again = await start(a);
  expect(again.port).not.toBe(other.port);
  await eventually(() => expect(again.epoch()).toEqual({ counter: 2, coordinator: a.id }));
});

test('a heartbeat that crashes is told once and starts again', async () => {
  const [a, b] = [await pool.member(), await pool.member()];
  const troubles: string[] = [];
  const first = await start(a, { peers: new Map([[b.id, []]]), onTrouble: (message) => troubles.push(message) });
  const second = await start(b, { peers: new Map([[a.id, [`127.0.0.1:${first.port}`]]]) });
  const aliveAgain = (incarnation: number): Promise<void> =>
    eventually(() =>
      expect(second.members().find(({ id }) => id === a.id)).toMatchObject({ state: 'alive', incarnation }),
    );
  await aliveAgain(1);
  first.setTls({ ca: 'no', cert: 'certificate', key: 'at all' });
  await eventually(() => expect(troubles[0]).toContain('crashed'));
  first.setTls(a.tls);
  await aliveAgain(2);
});

test('a member with a certificate makes others neither gone nor hidden by what it says of them', async () => {
  const [a, b, liar] = [await pool.member(), await pool.member(), await pool.member()];
  const troubles: string[] = [];
  const peers = new Map<string, string[]>([b, liar].map(({ id }) => [id, []]));
  const first = await start(a, { peers, onTrouble: (message) => troubles.push(message) });
  const second = await start(b, { peers: new Map([[a.id, [`127.0.0.1:${first.port}`]]]) });
  const seen = () => first.members().find(({ id }) => id === b.id);
  await eventually(() => expect(seen()).toMatchObject({ state: 'alive', linked: true }));

  const link = await dialHeartbeat(
    { address: `127.0.0.1:${first.port}`, member: a.id, tls: liar.tls },
    AbortSignal.timeout(10_000),
  );
  const states = new Set<string | undefined>();
  const end = first.onChange(() => states.add(seen()?.state));
  // Far ahead of all that the other will ever say, and final.
  const own = { member: b.id, incarnation: 1, run: 'zzz', sequence: 2 ** 50, left: true, leads: 0 };
  const record = { ...own, heartbeatPort: second.port, card };
  link.send(new HeartbeatCodec(liar.tls).encode({ epoch: null, news: [{ record, silentMs: 0 }] }));
  await eventually(() => expect(troubles.filter((line) => line.includes(liar.id))).toHaveLength(1));
  expect(troubles.at(-1)).toMatch(/tells of others what they have not said/);
  second.setCard({ name: 'still heard' });
  await eventually(() => expect(seen()).toMatchObject({ state: 'alive', card: { name: 'still heard' } }));
  end();
  link.close();
  expect([...states]).not.toContain('left');
});
