import { afterAll, beforeAll, expect, test } from 'vitest';
import { demoShares } from '../../electron/cli/demoShares.ts';
import { modelShape } from '../../electron/gguf/modelShape.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { demoCorpus, demoModelPath } from '../testing/demoCorpus.ts';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import { LanPool } from './testing/lanPool.ts';
import { OpenaiUser } from './testing/openaiUser.ts';

describeOnLan('a ring over three machines', () => {
  let pool: LanPool;
  let shares: string[];

  beforeAll(async () => {
    // So little that the model needs all three.
    shares = demoShares(modelShape(await openModel(demoModelPath)), 3).map(String);
    pool = await LanPool.start({ members: 3, memory: shares, args: ['--threads', '1'] });
  });

  afterAll(async () => {
    await pool.close();
  });

  test('answers through any of them; when one is killed the others say so, and once it is back they serve by themselves', async () => {
    await pool.joinAll();
    const [ada, bob, cyd] = [pool.member(1), pool.member(2), pool.member(3)];
    const user = await OpenaiUser.start(bob.machine, bob.gateway);
    const [known] = demoCorpus();
    const question = known?.questions[0] ?? '';
    // At once: the leader waits for what those who have only now joined say of their machines.
    const { model, pipelines } = JSON.parse(
      await ada.run('serve', demoModelPath, '--json', '--members', 'ada,bob,cyd'),
    );
    expect(pipelines).toMatchObject([{ hops: 2 }]);
    await eventually(async () => expect(await user.models()).toEqual([model]));
    expect((await user.ask(model, question).ended()).text).toBe(known?.answer);

    await cyd.kill();
    await eventually(async () => {
      await expect(user.ask(model, question).ended()).rejects.toThrow(/503.*lost/);
    });
    for (const by of [ada, bob]) await by.sees('ada alive', 'bob alive', 'cyd lost');
    const [failed] = (await bob.status()).pipelines;
    expect(failed).toMatchObject({
      modelId: model,
      state: 'failed',
      reason: expect.stringMatching(/lost.*cyd|cyd.*lost/),
    });
    expect(failed?.reason).not.toMatch(/\d:\d/);

    await cyd.up('--memory', shares[2] ?? '', '--threads', '1');
    await pool.allSee('ada alive', 'bob alive', 'cyd alive');
    // Who has been started again brings back what it had a part in.
    await eventually(async () => {
      const now = (await bob.status()).pipelines.filter(({ state }) => state === 'serving');
      expect(now).toMatchObject([{ modelId: model, hops: 2 }]);
    });
    expect((await user.ask(model, question).ended()).text).toBe(known?.answer);
  });
});
