import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { demoModelPath } from '../testing/demoCorpus.ts';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import type { LanMember } from './testing/lanMember.ts';
import { LanPool, oneReign } from './testing/lanPool.ts';
import { LanClient, serve, stagesOf } from './testing/lanServing.ts';

describeOnLan('a pool that serves in both its halves', () => {
  /** Every step waits for what others see, and commands are processes, which take their time on a busy machine. */
  vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });
  let pool: LanPool;
  /** The first leader, and who is with it when the pool is cut in two. */
  let first: LanMember;
  let firstMate: LanMember;
  /** The leader of the other half, and who is with it. */
  let other: LanMember;
  let otherMate: LanMember;
  let firstClient: LanClient;
  let otherClient: LanClient;

  beforeAll(async () => {
    pool = await LanPool.start({ members: 4 });
    await pool.joinAll();
  });

  afterAll(async () => {
    await pool.close();
  });

  const ledBy = (id: string): LanMember => {
    const found = pool.members.find((member) => member.id === id);
    if (found === undefined) throw new Error(`No member has the id ${id}.`);
    return found;
  };
  const serveOver = (members: readonly LanMember[]) => {
    const [lead = first] = members;
    const names = members.map(({ name }) => name).join(',');
    // A machine whose cores are all busy may take too long to say hello; what failed leaves nothing behind.
    return eventually(() => serve(lead, demoModelPath, '--members', names, '--force', 'cluster'));
  };
  const allAlive = (): Promise<void> => pool.allSee(...pool.members.map(({ name }) => `${name} alive`));

  test('healed, what serves on either side goes on, though one of its leaders has stepped down', async () => {
    first = ledBy((await oneReign(pool.members)).leader);
    const [mate, ...far] = pool.members.filter((member) => member !== first);
    if (mate === undefined) throw new Error('The pool is too small.');
    firstMate = mate;
    const near = [first, firstMate];
    const here = await serveOver(near);
    expect(here.pipelines).toEqual([near.map(({ name }) => name)]);

    await pool.lan.split(
      near.map(({ machine }) => machine),
      far.map(({ machine }) => machine),
    );
    const seenBy = (half: readonly LanMember[]): string[] =>
      pool.members.map((member) => `${member.name} ${half.includes(member) ? 'alive' : 'lost'}`);
    for (const half of [near, far]) for (const by of half) await by.sees(...seenBy(half));
    const reign = await oneReign(far);
    other = ledBy(reign.leader);
    otherMate = far.find((member) => member !== other) ?? other;
    const there = await serveOver([other, otherMate]);
    expect(there.pipelines).toEqual([[other.name, otherMate.name]]);
    firstClient = new LanClient(first, here.model);
    otherClient = new LanClient(other, there.model);
    const clients = [firstClient, otherClient];
    for (const client of clients) await client.answered(1);
    const stages = pool.members.map(stagesOf);
    expect(stages.map(({ length }) => length)).toEqual([1, 1, 1, 1]);

    await pool.lan.heal();
    await allAlive();
    expect(await oneReign(pool.members)).toEqual(reign);
    for (const client of clients) await client.answered(2);
    for (const client of clients) expect(new Set(client.outcomes())).toEqual(new Set(['answered']));
    expect(pool.members.map(stagesOf)).toEqual(stages);
  });

  test('a stage whose coordinator stands still is freed, and the coordinator gives up its own when it goes on', async () => {
    first.process.pause();
    await eventually(() => expect(stagesOf(firstMate)).toEqual([]));
    first.process.resume();
    await eventually(() => expect(stagesOf(first)).toEqual([]));
    // By the pipeline of the others, which has gone on meanwhile.
    await firstClient.answered(1);
    expect([other, otherMate].map((member) => stagesOf(member).length)).toEqual([1, 1]);
    await firstClient.stop();
  });

  test('a stage that is cut off from its coordinator is freed, and so is that of the coordinator', async () => {
    await otherClient.answered(1);
    await pool.lan.cut(other.machine);
    for (const member of [other, otherMate]) await eventually(() => expect(stagesOf(member)).toEqual([]));
    await pool.lan.heal();
    await allAlive();
    await oneReign(pool.members);
  });
});
