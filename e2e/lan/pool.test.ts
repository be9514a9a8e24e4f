import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import { LanPool, oneLeader, oneReign, within } from './testing/lanPool.ts';

/** How long is listened for quiet, ms. */
const QUIET_MS = 3000;
/** How long every core is kept busy, ms. */
const BUSY_MS = Number(process.env.ROOMFUL_TEST_BUSY_SECONDS ?? 60) * 1000;

describeOnLan('a pool as people start it', () => {
  let pool: LanPool;

  beforeAll(async () => {
    pool = await LanPool.start({ members: 3 });
  });

  afterAll(async () => {
    await pool.close();
  });

  test('three join and all see all, and the status is as promised', async () => {
    const alone = await pool.member(2).status();
    expect(alone).toMatchObject({ pool: null, coordinator: null, epoch: null, pipelines: [] });
    expect(alone.members).toMatchObject([{ name: 'bob', state: 'alive', self: true }]);

    within(await pool.joinAll(), 5000, 'from join to all see all');
    const { leader } = await oneReign(pool.members);
    expect(leader).toBe(pool.member(1).id);
    const status = await pool.member(2).status();
    expect(status).toMatchObject({
      self: { id: pool.member(2).id, name: 'bob' },
      pool: { name: 'Attic' },
      pipelines: [],
    });
    expect(status.members).toHaveLength(3);
    for (const { address, shareBytes, devices, reject, build } of status.members) {
      expect(address).toMatch(/^(10\.77\.0\.\d+|\[f[de][0-9a-f]*:.*\]):\d+$/);
      expect({ shareBytes, reject }).toEqual({ shareBytes: 1e9, reject: null });
      expect(devices.length).toBeGreaterThan(0);
      expect(build).toBe(status.members[0]?.build);
    }
  });

  test('a pool that rests is quiet', async () => {
    const packets = (): number => packetsIn(pool.member(1).process.pid, 'eth0');
    // At first they measure how far apart they are.
    await eventually(async () => {
      const before = packets();
      await sleep(QUIET_MS);
      expect(packets() - before).toBeLessThan(300);
    });
  });

  test('with every core busy nobody is called lost, and the leader stays', { timeout: BUSY_MS + 240_000 }, async () => {
    const before = await oneReign(pool.members);
    const from = pool.members.map((each) => each.history().length);
    const busy = Array.from({ length: 2 * availableParallelism() }, () =>
      pool.machine(1).start(process.execPath, ['-e', 'for (;;);']),
    );
    await sleep(BUSY_MS);
    await Promise.all(busy.map((each) => each.kill()));
    const seen = pool.members.flatMap((each, index) => each.history().slice(from[index]).flat());
    console.log(`${BUSY_MS / 1000} busy seconds: ${seen.filter(({ state }) => state === 'suspect').length} suspicions`);
    expect(seen.filter(({ state }) => state !== 'alive' && state !== 'suspect')).toEqual([]);
    expect(await oneReign(pool.members)).toEqual(before);
  });

  test('a killed leader is followed by one other; its restart is one member', async () => {
    const [ada, bob, cyd] = [pool.member(1), pool.member(2), pool.member(3)];
    const before = await oneReign(pool.members);
    expect(before.leader).toBe(ada.id);
    const killedAt = performance.now();
    const killed = ada.kill();
    for (const by of [bob, cyd]) await by.sees('ada lost', 'bob alive', 'cyd alive');
    const lostMs = performance.now() - killedAt;
    await oneLeader([bob, cyd]);
    const ledMs = performance.now() - killedAt;
    within(lostMs, 1000, 'kill -9 is seen');
    within(ledMs, 4000, 'one new leader after kill -9');
    await killed;
    const after = await oneReign([bob, cyd]);
    expect(after.counter).toBeGreaterThan(before.counter);

    await ada.up();
    await pool.allSee('ada alive', 'bob alive', 'cyd alive');
    expect(await oneReign(pool.members)).toEqual(after);
  });

  test('who says goodbye has left; who was removed is out for good, and only an admin removes', async () => {
    const [ada, bob, cyd] = [pool.member(1), pool.member(2), pool.member(3)];
    await bob.stop();
    for (const by of [ada, cyd]) await by.sees('ada alive', 'bob left', 'cyd alive');
    await oneLeader([ada, cyd]);
    await bob.up();
    await pool.allSee('ada alive', 'bob alive', 'cyd alive');

    await ada.run('remove', 'cyd');
    for (const by of [ada, bob]) await by.sees('ada alive', 'bob alive');
    await eventually(async () => expect((await cyd.status()).pool).toBeNull());
    await oneReign([ada, bob]);
    await expect(bob.run('remove', 'ada')).rejects.toThrow(/roomful: Only an admin of the pool can do that/);
  });
});

/** Packets that a card has taken in, in the network namespace of a process. */
function packetsIn(pid: number, card: string): number {
  const line = readFileSync(`/proc/${pid}/net/dev`, 'utf8').match(new RegExp(`${card}:\\s*\\d+\\s+(\\d+)`));
  return Number(line?.[1]);
}
