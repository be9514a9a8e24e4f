import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import { Lan } from './lan.ts';
import { follow, PresenceMember, type SeenView } from './testing/presenceMember.ts';

describeOnLan('membership alone, between real processes', () => {
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

  const stateIn = (view: SeenView, of: PresenceMember): string | undefined =>
    view.members.find(({ id }) => id === of.id)?.state;

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
