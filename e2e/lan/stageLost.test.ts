import { afterAll, beforeAll, expect, test } from 'vitest';
import { demoShares } from '../../electron/cli/demoShares.ts';
import { modelShape } from '../../electron/gguf/modelShape.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { demoCorpus, demoModelPath } from '../testing/demoCorpus.ts';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import { LanPool } from './testing/lanPool.ts';

describeOnLan('a ring over three machines', () => {
  let pool: LanPool;
  let shares: string[];

  beforeAll(async () => {
    // So little that the model needs all three.
    shares = demoShares(modelShape(await openModel(demoModelPath)), 3).map(String);
    pool = await LanPool.start({ members: 3, memory: shares });
  });

  afterAll(async () => {
    await pool.close();
  });

  test('answers through any of them; when one is killed the others say so, and once it is back they serve anew', async () => {
    await pool.joinAll();
    const [ada, bob, cyd] = [pool.member(1), pool.member(2), pool.member(3)];
    const [known] = demoCorpus();
    const question = known?.questions[0] ?? '';
    const served = await ada.run('serve', demoModelPath, '--json', '--members', 'ada,bob,cyd');
    const { model, pipelines } = JSON.parse(served);
    expect(pipelines).toMatchObject([{ hops: 2 }]);
    // The others hear of it a moment later than who asked for it.
    await eventually(async () => expect(await bob.models()).toContain(model));
    expect(await bob.ask(model, question)).toBe(known?.answer);

    await cyd.kill();
    await eventually(async () => {
      const messages = [{ role: 'user', content: question }];
      const { status, body } = await bob.fetch('/v1/chat/completions', { model, temperature: 0, messages });
      expect({ status, body }).toMatchObject({
        status: 503,
        body: { error: { code: 'stage_lost', message: expect.stringContaining('lost') } },
      });
    });
    for (const by of [ada, bob]) await by.sees('ada alive', 'bob alive', 'cyd lost');

    await cyd.up('--memory', shares[2] ?? '');
    await pool.allSee('ada alive', 'bob alive', 'cyd alive');
    const anew = JSON.parse(await bob.run('serve', demoModelPath, '--json', '--members', 'ada,bob,cyd'));
    expect(anew).toMatchObject({ model, pipelines: [{ hops: 2 }] });
    expect(await ada.ask(model, question)).toBe(known?.answer);
  });
});
