import { cp } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import { LanPool, oneLeader, oneReign, within } from './testing/lanPool.ts';

/** How long a member sleeps, ms; long enough for every connection to it to be given up. */
const SLEEP_MS = Number(process.env.ROOMFUL_TEST_SLEEP_SECONDS ?? 10) * 1000;

/** How long it sleeps on after the others have lost it, and then has no network, ms; once a member led by itself after 3 s. */
const SETTLE_AFTER_LOSS_MS = 2000;
const OFFLINE_MS = 6000;

describeOnLan('a pool without multicast that much happens to', () => {
  let pool: LanPool;

  beforeAll(async () => {
    pool = await LanPool.start({ members: 4, spare: 1, args: ['--no-mdns'] });
  });

  afterAll(async () => {
    await pool.close();
  });

  test('four join by address and all see all', async () => {
    within(await pool.joinAll(), 5000, 'from join to all see all, by address');
  });

  test('a laptop that sleeps is lost meanwhile, and back by itself when it wakes', {
    timeout: SLEEP_MS + 240_000,
  }, async () => {
    const [ada, bob, cyd, dan] = [pool.member(1), pool.member(2), pool.member(3), pool.member(4)];
    const before = await oneReign(pool.members);
    const asleepAt = performance.now();
    dan.sleep();
    for (const by of [ada, bob, cyd]) await by.sees('ada alive', 'bob alive', 'cyd alive', 'dan lost');
    within(performance.now() - asleepAt, 3500, 'SIGSTOP is seen');
    await sleep(Math.max(0, asleepAt + SLEEP_MS - performance.now()));

    const awakeAt = performance.now();
    dan.wake();
    await pool.allSee('ada alive', 'bob alive', 'cyd alive', 'dan alive');
    within(performance.now() - awakeAt, 5000, 'back after waking');
    expect(await oneReign(pool.members)).toEqual(before);
    const { members } = await ada.status();
    expect(members.map(({ name }) => name).sort()).toEqual(['ada', 'bob', 'cyd', 'dan']);
  });

  test('a laptop that wakes before its network does deposes nobody', async () => {
    const [ada, dan] = [pool.member(1), pool.member(4)];
    const before = await oneReign(pool.members);
    expect(before.leader).toBe(ada.id);
    dan.sleep();
    await ada.sees('ada alive', 'bob alive', 'cyd alive', 'dan lost');
    await sleep(SETTLE_AFTER_LOSS_MS);
    await pool.lan.cut(dan.machine);
    dan.wake();
    await dan.sees('ada lost', 'bob lost', 'cyd lost', 'dan alive');
    await sleep(OFFLINE_MS);
    expect(dan.leader()).toBeUndefined();

    const onlineAt = performance.now();
    await pool.lan.heal();
    await pool.allSee('ada alive', 'bob alive', 'cyd alive', 'dan alive');
    within(performance.now() - onlineAt, 5000, 'back after its network is');
    expect(await oneReign(pool.members)).toEqual(before);
  });

  test('a cut cable is seen; two halves have two leaders, and healed they have the one of the higher epoch', async () => {
    const [ada, bob, cyd, dan] = [pool.member(1), pool.member(2), pool.member(3), pool.member(4)];
    const before = await oneReign(pool.members);
    expect(before.leader).toBe(ada.id);
    const cutAt = performance.now();
    await pool.lan.split([ada.machine, bob.machine], [cyd.machine, dan.machine]);
    for (const by of [cyd, dan]) await by.sees('ada lost', 'bob lost', 'cyd alive', 'dan alive');
    for (const by of [ada, bob]) await by.sees('ada alive', 'bob alive', 'cyd lost', 'dan lost');
    const lostMs = performance.now() - cutAt;
    await oneLeader([cyd, dan]);
    const ledMs = performance.now() - cutAt;
    within(lostMs, 3500, 'a cut is seen');
    within(ledMs, 4000, 'a leader of the other half');
    const other = await oneReign([cyd, dan]);
    expect(await oneReign([ada, bob])).toEqual(before);
    expect(other.counter).toBeGreaterThan(before.counter);

    const healedAt = performance.now();
    await pool.lan.heal();
    await pool.allSee('ada alive', 'bob alive', 'cyd alive', 'dan alive');
    await oneLeader(pool.members);
    console.log(`healed: all see all after ${Math.round(performance.now() - healedAt)} ms`);
    expect(await oneReign(pool.members)).toEqual(other);
  });

  test('two members with copied data folders are told apart, and both stay in the pool', async () => {
    const [ada, bob, cyd, dan] = [pool.member(1), pool.member(2), pool.member(3), pool.member(4)];
    const copy = pool.newcomer('copy', pool.machine(5));
    await dan.stop();
    await cp(dan.home, copy.home, { recursive: true });
    await dan.up('--no-mdns');
    await pool.allSee('ada alive', 'bob alive', 'cyd alive', 'dan alive');
    const idBefore = dan.id;

    await copy.up('--no-mdns');
    expect(copy.id).toBe(idBefore);
    const both = ['ada alive', 'bob alive', 'copy alive', 'cyd alive', 'dan alive'];
    await pool.allSee(...both);
    await copy.sees(...both);
    const [original, other] = [await dan.status(), await copy.status()];
    expect(original.self.id).toBe(idBefore);
    expect(other.self.id).not.toBe(idBefore);
    expect(new Set(original.members.map(({ id }) => id)).size).toBe(5);
    await oneReign([ada, bob, cyd]);

    await ada.run('remove', idBefore);
    for (const by of [ada, bob, cyd]) await by.sees('ada alive', 'bob alive', 'cyd alive');
    for (const by of [dan, copy]) await eventually(async () => expect((await by.status()).pool).toBeNull());
  });
});
