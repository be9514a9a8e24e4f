import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { demoShares } from '../../electron/cli/demoShares.ts';
import { modelShape } from '../../electron/gguf/modelShape.ts';
import { openModel } from '../../electron/gguf/openModel.ts';
import { demoCorpus, demoDraftPath, demoModelPath } from '../testing/demoCorpus.ts';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import { LanPool } from './testing/lanPool.ts';
import { serve } from './testing/lanServing.ts';
import { OpenaiUser } from './testing/openaiUser.ts';

describeOnLan('after a power cut', () => {
  vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });
  let pool: LanPool;
  /** So little that the model needs both. */
  let shares: string[];

  beforeAll(async () => {
    shares = demoShares(modelShape(await openModel(demoModelPath)), 2).map(String);
    pool = await LanPool.start({ members: 2, memory: shares, args: ['--threads', '1'] });
    await pool.joinAll();
  });

  afterAll(async () => {
    await pool.close();
  });

  const again = async (): Promise<void> => {
    for (const member of pool.members) await member.kill();
    await up();
  };
  const up = async (): Promise<void> => {
    await Promise.all(
      pool.members.map((member, index) => member.up('--threads', '1', '--memory', shares[index] ?? '')),
    );
    await pool.allSee('ada alive', 'bob alive');
  };
  const listed = async (models: string[]): Promise<void> => {
    for (const { machine, gateway } of pool.members) {
      const user = await OpenaiUser.start(machine, gateway);
      await eventually(async () => expect(await user.models()).toEqual(models));
    }
  };

  test('what was served comes back with its aliases; what anybody has stopped does not', async () => {
    const [ada, bob] = [pool.member(1), pool.member(2)];
    const [known] = demoCorpus();
    const { model, pipelines } = await serve(bob, demoModelPath, '--alias', 'helper');
    expect(pipelines[0]?.slice().sort()).toEqual(['ada', 'bob']);
    await again();
    await listed([model]);
    const user = await OpenaiUser.start(ada.machine, ada.gateway);
    expect((await user.ask('helper', known?.questions[0] ?? '').ended()).text).toBe(known?.answer);

    // Asked for here, stopped there.
    await ada.run('stop', 'helper');
    const other = await serve(ada, demoDraftPath);
    await again();
    await listed([other.model]);
    expect((await bob.status()).pipelines.map(({ modelId }) => modelId)).toEqual([other.model]);
  });

  test('who is away while a model is stopped does not serve it again; any member that took part brings one back', async () => {
    const [ada, bob] = [pool.member(1), pool.member(2)];
    for (const { modelId } of (await bob.status()).pipelines) await ada.run('stop', modelId);
    const { model } = await serve(bob, demoModelPath);
    // Whoever asked for it comes back without any memory of that.
    await Promise.all(pool.members.map((member) => member.kill()));
    await rm(join(bob.home, 'serves.json'));
    await up();
    await listed([model]);

    await bob.kill();
    await ada.run('stop', model);
    await bob.up('--threads', '1', '--memory', shares[1] ?? '');
    await pool.allSee('ada alive', 'bob alive');
    await eventually(async () => {
      const kept: unknown = JSON.parse(await readFile(join(bob.home, 'serves.json'), 'utf8'));
      expect(kept).toMatchObject({ serves: [] });
    });
    expect((await bob.status()).pipelines.filter(({ state }) => state !== 'stopped')).toEqual([]);
  });
});
