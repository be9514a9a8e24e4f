import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { LLAMA_CPP_COMMIT } from '../../electron/stage/llamaBuild.ts';
import { demoModelPath } from '../testing/demoCorpus.ts';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import { LanPool, oneReign } from './testing/lanPool.ts';
import { lanProgram } from './testing/lanProgram.ts';
import { LanClient, serve, stagesOf } from './testing/lanServing.ts';

const BUILD = 'f'.repeat(40);
const reject = { kind: 'BuildMismatch', expected: LLAMA_CPP_COMMIT, found: BUILD };

describeOnLan('a member of another build', () => {
  /** Commands are processes, which take their time on a busy machine. */
  vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });
  let pool: LanPool;

  beforeAll(async () => {
    pool = await LanPool.start({ members: 2, spare: 1 });
    await pool.joinAll();
  });

  afterAll(async () => {
    await pool.close();
  });

  test('is shown as such, serves by itself, and takes part when it has been updated', async () => {
    const [ada, bob] = [pool.member(1), pool.member(2)];
    const old = pool.newcomer('old', pool.machine(3));
    await old.upFrom(lanProgram('otherBuild'), '--build', BUILD);
    await old.join(await ada.invite());
    for (const by of [ada, bob, old]) await by.sees('ada alive', 'bob alive', 'old alive');
    const reign = await oneReign([ada, bob, old]);
    expect(reign.leader).toBe(ada.id);
    for (const by of [ada, bob, old]) {
      await eventually(async () => {
        const { members } = await by.status();
        const rejects = Object.fromEntries(members.map(({ name, reject: why }) => [name, why]));
        expect(rejects).toEqual({ ada: null, bob: null, old: reject });
      });
    }
    const onOld = () => serve(ada, demoModelPath, '--members', 'old');
    await expect(onOld()).rejects.toThrow(/old is left out: it runs llama.cpp f+, the pool runs/);

    const { model, pipelines } = await serve(old, demoModelPath);
    expect(pipelines).toEqual([['old']]);
    const client = new LanClient(old, model);
    await client.answered(1);
    await client.stop();
    expect(client.outcomes()).toEqual(expect.arrayContaining(['answered']));
    expect(stagesOf(old)).toHaveLength(1);
    // Its own term has not become one of the pool's.
    expect(await oneReign([ada, bob, old])).toEqual(reign);
    const fence = JSON.parse(await readFile(join(old.home, 'pool', 'fence.json'), 'utf8'));
    expect(fence).toMatchObject({ epoch: { counter: reign.counter, coordinator: reign.leader } });

    await old.stop();
    await old.up();
    for (const by of [ada, bob, old]) await by.sees('ada alive', 'bob alive', 'old alive');
    await eventually(async () => {
      for (const { reject: why } of (await ada.status()).members) expect(why).toBeNull();
    });
    // What it served by itself is the pool's now.
    await eventually(async () => {
      expect((await ada.status()).pipelines).toMatchObject([{ modelId: model, state: 'serving' }]);
    });
    await bob.run('stop', model);
    expect((await onOld()).pipelines).toEqual([['old']]);
  });
});
