import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import { Lan } from './lan.ts';
import { LanMember } from './testing/lanMember.ts';

const NAMES = ['ada', 'bob', 'cyd', 'dan'];
/** On an idle machine; tests of the real thing allow three times as much. */
const ALLOWED = 3;

describeOnLan('the pool, member by member as people start them', () => {
  /** Commands are processes, which take their time on a busy machine. */
  vi.setConfig({ testTimeout: 240_000 });
  let folder: string;
  let lan: Lan;
  let members: LanMember[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roomful-pool-'));
  });

  afterEach(async () => {
    await lan.close();
    await rm(folder, { recursive: true, force: true });
  });

  function member(number: number): LanMember {
    const found = members[number - 1];
    if (found === undefined) throw new Error(`There is no member ${number}`);
    return found;
  }

  async function start(count: number, ...args: string[]): Promise<void> {
    lan = await Lan.create(count);
    members = lan.machines.map((machine, index) => {
      const name = NAMES[index] ?? '';
      return new LanMember(name, machine, join(folder, name));
    });
    await Promise.all(members.map((each) => each.up(...args)));
  }

  /** The first makes a pool and the others join it; answers the ms from the end of the last join to all seeing all. */
  async function joinAll(): Promise<number> {
    const [first, ...others] = members;
    await first?.run('create', 'Attic');
    const tokens = await Promise.all(others.map(async () => first?.invite()));
    await Promise.all(others.map((other, index) => other.run('join', tokens[index] ?? '')));
    const since = performance.now();
    for (const by of members) await by.sees(...members.map(({ name }) => `${name} alive`));
    return performance.now() - since;
  }

  /** Waits until all of them follow the same one, and answers who that is. */
  async function oneLeader(among: readonly LanMember[]): Promise<{ leader: string | null; counter: number }> {
    const [one] = await eventually(() => {
      const leaders = new Set(among.map((by) => by.leader()));
      expect([...leaders]).toHaveLength(1);
      expect(among.map(({ id }) => id)).toContain([...leaders][0]);
      return [...leaders];
    });
    const epochs = await Promise.all(among.map(async (by) => (await by.status()).epoch));
    expect(new Set(epochs.map((epoch) => JSON.stringify(epoch))).size).toBe(1);
    return { leader: one ?? null, counter: epochs[0]?.counter ?? 0 };
  }

  test.each([
    ['by multicast', []],
    ['by address, without multicast', ['--no-mdns']],
  ])('%s: three join and all see all, with all that the status promises', async (_, args) => {
    await start(3, ...args);
    const ms = await joinAll();
    console.log(`after the last join all see all within ${Math.round(ms)} ms`);
    expect(ms).toBeLessThan(ALLOWED * 5000);
    const { leader } = await oneLeader(members);
    expect(leader).toBe(member(1).id);
    const status = await member(2).status();
    expect(status).toMatchObject({ self: { id: member(2).id, name: 'bob' }, pool: { name: 'Attic' }, pipelines: [] });
    for (const { address, shareBytes, devices, reject } of status.members) {
      expect(address).toMatch(/^(10\.77\.0\.\d+|\[f[de][0-9a-f]*:.*\]):\d+$/);
      expect({ shareBytes, devices: devices.length > 0, reject }).toEqual({
        shareBytes: 1e9,
        devices: true,
        reject: null,
      });
    }
  });

  test('a killed leader is followed by one other; its restart is one member; one that is removed is out for good', async () => {
    await start(3);
    await joinAll();
    const [ada, bob, cyd] = [member(1), member(2), member(3)];
    const before = await oneLeader(members);
    const killedAt = performance.now();
    await ada.kill();
    for (const by of [bob, cyd]) await by.sees('ada lost', 'bob alive', 'cyd alive');
    const lostMs = performance.now() - killedAt;
    const after = await oneLeader([bob, cyd]);
    const ledMs = performance.now() - killedAt;
    console.log(`kill -9: seen after ${Math.round(lostMs)} ms, one new leader after ${Math.round(ledMs)} ms`);
    expect(lostMs).toBeLessThan(ALLOWED * 1000);
    expect(ledMs).toBeLessThan(ALLOWED * 4000);
    expect(after.counter).toBeGreaterThan(before.counter);

    await ada.up();
    for (const by of members) await by.sees('ada alive', 'bob alive', 'cyd alive');
    expect(await oneLeader(members)).toEqual(after);

    await ada.run('remove', 'cyd');
    for (const by of [ada, bob]) await by.sees('ada alive', 'bob alive');
    await eventually(async () => expect((await cyd.status()).pool).toBeNull());
    await oneLeader([ada, bob]);
    await expect(bob.run('remove', 'ada')).rejects.toThrow(/roomful: Only an admin of the pool can do that/);
  });

  test('a frozen one and one that is cut off are lost and back; two halves have two leaders, healed they have one', async () => {
    await start(4);
    await joinAll();
    const [ada, bob, cyd, dan] = [member(1), member(2), member(3), member(4)];
    const before = await oneLeader(members);
    const frozenAt = performance.now();
    dan.process.pause();
    for (const by of [ada, bob, cyd]) await by.sees('ada alive', 'bob alive', 'cyd alive', 'dan lost');
    const frozenMs = performance.now() - frozenAt;
    dan.process.resume();
    for (const by of members) await by.sees('ada alive', 'bob alive', 'cyd alive', 'dan alive');

    const cutAt = performance.now();
    await lan.split([ada.machine, bob.machine], [cyd.machine, dan.machine]);
    for (const by of [cyd, dan]) await by.sees('ada lost', 'bob lost', 'cyd alive', 'dan alive');
    const cutMs = performance.now() - cutAt;
    console.log(`SIGSTOP: seen after ${Math.round(frozenMs)} ms; cut: seen after ${Math.round(cutMs)} ms`);
    for (const ms of [frozenMs, cutMs]) expect(ms).toBeLessThan(ALLOWED * 3500);
    const other = await oneLeader([cyd, dan]);
    expect(await oneLeader([ada, bob])).toEqual(before);
    expect(other.counter).toBeGreaterThan(before.counter);

    await lan.heal();
    for (const by of members) await by.sees('ada alive', 'bob alive', 'cyd alive', 'dan alive');
    expect(await oneLeader(members)).toEqual(other);
  });
});
