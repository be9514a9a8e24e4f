import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import { Lan } from './lan.ts';
import { follow, PresenceMember, type SeenView } from './testing/presenceMember.ts';

describeOnLan('membership between real processes', () => {
  let folder: string;
  let lan: Lan;
  let members: PresenceMember[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roomful-presence-'));
  });

  afterEach(async () => {
    await lan.close();
    await rm(folder, { recursive: true, force: true });
  });

  function member(number: number): PresenceMember {
    const found = members[number - 1];
    if (found === undefined) throw new Error(`There is no member ${number}`);
    return found;
  }

  /** Starts members that know each other by id and only where the first one is; the first one leads. */
  async function startPool(count: number): Promise<void> {
    lan = await Lan.create(count);
    const homes = lan.machines.map(({ number }) => join(folder, String(number)));
    members = await PresenceMember.pool(lan.machines, homes);
    const first = member(1);
    await first.start(peersOf(first), 100);
    await Promise.all(members.slice(1).map((each) => each.start(peersOf(each), 10 - each.machine.number)));
    for (const by of members) for (const other of members) await by.sees(other, 'alive');
    await follow(first, members);
  }

  function peersOf(who: PresenceMember): Record<string, string[]> {
    const others = members.filter(({ id }) => id !== who.id);
    return Object.fromEntries(others.map((other) => [other.id, other === member(1) ? [other.address] : []]));
  }

  /** Ms from `since` to the first view of each observer that had `what`, the latest of them. */
  function msUntil(observers: PresenceMember[], since: number, what: (view: SeenView) => boolean): number {
    const firsts = observers.map((by) => by.views().find(({ at, view }) => at >= since && what(view))?.at);
    return Math.max(...firsts.map((at) => (at ?? Number.POSITIVE_INFINITY) - since));
  }

  const stateIn = (view: SeenView, of: PresenceMember): string | undefined =>
    view.members.find(({ id }) => id === of.id)?.state;

  test('one address is enough to find all; a killed leader is followed by one other, and comes back as one member', async () => {
    await startPool(3);
    const [killed, second, third] = [member(1), member(2), member(3)];
    const others = [second, third];
    const killedAt = Date.now();
    await killed.process.kill();
    for (const by of others) await by.sees(killed, 'lost');
    await follow(second, others);
    const lostMs = msUntil(others, killedAt, (view) => stateIn(view, killed) === 'lost');
    const ledMs = msUntil(others, killedAt, ({ coordinator }) => coordinator === second.id);
    console.log(`kill -9: lost after ${lostMs} ms, a new leader for all after ${ledMs} ms`);
    expect(lostMs).toBeLessThanOrEqual(3 * 1000);
    expect(ledMs).toBeLessThanOrEqual(3 * 4000);
    expect(third.view().epoch).toEqual({ counter: 2, coordinator: second.id });

    // Nobody tells it an address: it remembers them.
    await killed.start(Object.fromEntries(others.map(({ id }) => [id, []])), 100);
    for (const by of members) for (const other of members) await by.sees(other, 'alive');
    expect(
      third
        .view()
        .members.map(({ id, incarnation }) => [id, incarnation])
        .sort(),
    ).toEqual(
      [
        [killed.id, 2],
        [second.id, 1],
        [third.id, 1],
      ].sort(),
    );
    await follow(second, members);

    third.process.write('leave\n');
    await third.process.exit;
    for (const by of [killed, second]) await by.sees(third, 'left');
    expect(third.views().every(({ view }) => view.epoch === null || view.epoch.counter <= 2)).toBe(true);
  });

  test('a frozen and a cut-off machine are lost, and back when they can be; two halves have two leaders, then one', async () => {
    await startPool(4);
    const [first, second, third, fourth] = [member(1), member(2), member(3), member(4)];
    const watchers = [first, second, third];
    const frozenAt = Date.now();
    fourth.process.pause();
    for (const by of watchers) await by.sees(fourth, 'lost');
    const frozenMs = msUntil(watchers, frozenAt, (view) => stateIn(view, fourth) === 'lost');
    fourth.process.resume();
    const resumedAt = Date.now();
    for (const by of watchers) await by.sees(fourth, 'alive');
    const backMs = msUntil(watchers, resumedAt, (view) => stateIn(view, fourth) === 'alive');
    expect(
      fourth
        .views()
        .some(({ at, view }) => at >= frozenAt && watchers.some((other) => stateIn(view, other) === 'lost')),
    ).toBe(false);
    await follow(first, members);

    const cutAt = Date.now();
    await lan.split([first.machine, second.machine], [third.machine, fourth.machine]);
    await follow(third, [third, fourth]);
    await follow(first, [first, second]);
    const cutMs = msUntil([third, fourth], cutAt, (view) => stateIn(view, first) === 'lost');
    const halvesMs = msUntil([third, fourth], cutAt, ({ coordinator }) => coordinator === third.id);
    const { epoch } = third.view();
    expect(epoch).toEqual({ counter: 2, coordinator: third.id });

    const healedAt = Date.now();
    await lan.heal();
    await follow(third, members);
    for (const by of members) for (const other of members) await by.sees(other, 'alive');
    for (const by of members) expect(by.view().epoch).toEqual(epoch);
    const healedMs = msUntil([first, second], healedAt, ({ coordinator }) => coordinator === third.id);
    console.log(`SIGSTOP: lost after ${frozenMs} ms, back after ${backMs} ms; cut: lost after ${cutMs} ms,`);
    console.log(`a second leader after ${halvesMs} ms; healed: one leader after ${healedMs} ms`);
    expect(frozenMs).toBeLessThanOrEqual(3 * 3500);
    expect(cutMs).toBeLessThanOrEqual(3 * 3500);
  });

  test('with every core busy for a minute no member is lost, and the leader stays', { timeout: 180_000 }, async () => {
    await startPool(3);
    const from = Date.now();
    const busy = Array.from({ length: 2 * availableParallelism() }, () =>
      lan.machine(1).start(process.execPath, ['-e', 'for (;;);']),
    );
    await new Promise((resolve) => setTimeout(resolve, 60_000));
    await Promise.all(busy.map((each) => each.kill()));
    const views = members.flatMap((each) => each.views()).filter(({ at }) => at >= from);
    const states = views.flatMap(({ view }) => view.members.map(({ state }) => state));
    console.log(`a busy minute: ${states.filter((state) => state === 'suspect').length} suspicions`);
    expect(states).not.toContain('lost');
    await follow(member(1), members);
    for (const each of members) expect(each.view().epoch).toEqual({ counter: 1, coordinator: member(1).id });
  });

  test('a member whose main thread is busy lives on; one that is removed and one of another pool are kept out', async () => {
    await startPool(3);
    const [first, second, third] = [member(1), member(2), member(3)];
    const busyFrom = Date.now();
    second.process.write('block 8000\n');
    await second.process.says(/"unblocked"/);
    for (const by of [first, third]) {
      const seen = by.views().filter(({ at }) => at >= busyFrom);
      expect(seen.map(({ view }) => stateIn(view, second)).filter((state) => state === 'lost')).toEqual([]);
    }

    first.process.write(`remove ${third.id}\n`);
    second.process.write(`remove ${third.id}\n`);
    await eventually(() => expect(first.view().members).toHaveLength(2));
    await third.sees(first, 'lost');
    await eventually(() =>
      expect(first.events('trouble').map(({ value }) => value)).toContainEqual(expect.stringContaining(third.id)),
    );

    const [foreign] = await PresenceMember.pool([third.machine], [join(folder, 'foreign')]);
    await third.process.kill();
    await foreign?.start({ [first.id]: [first.address], [second.id]: [second.address] }, 1000);
    await eventually(() =>
      expect(first.events('trouble').map(({ value }) => value)).toContainEqual(
        expect.stringContaining('without a certificate'),
      ),
    );
    expect(
      foreign
        ?.view()
        .members.filter(({ self }) => !self)
        .map(({ state }) => state),
    ).toEqual(['lost', 'lost']);
    expect(first.view().members).toHaveLength(2);
    await follow(first, [first, second]);
  });
});
