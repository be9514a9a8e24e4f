import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { demoModelPath } from '../testing/demoCorpus.ts';
import { describeOnLan } from './describeOnLan.ts';
import type { LanMember } from './testing/lanMember.ts';
import { LanPool } from './testing/lanPool.ts';
import { LanClient, serve } from './testing/lanServing.ts';

/** Three times as long as a silence may last. */
const SILENT_MS = 9000;
const portSchema = z.object({ port: z.number() });

describeOnLan('two members whose heartbeats are held up', () => {
  let pool: LanPool;

  beforeAll(async () => {
    pool = await LanPool.start({ members: 2 });
    await pool.joinAll();
  });

  afterAll(async () => {
    await pool.close();
  });

  test('live for each other by the frames between their stages alone, and no longer than those travel', async () => {
    const [ada, bob] = [pool.member(1), pool.member(2)];
    const { model, pipelines } = await serve(ada, demoModelPath, '--members', 'ada,bob', '--force', 'cluster');
    expect(pipelines).toEqual([['ada', 'bob']]);
    const client = new LanClient(ada, model);
    await client.answered(1);

    await holdUpHeartbeats(pool.members);
    const from = pool.members.map((each) => each.history().length);
    await sleep(SILENT_MS);
    await client.answered(1);
    const seen = pool.members.flatMap((each, index) => each.history().slice(from[index]).flat());
    expect(seen.filter(({ state }) => state === 'lost')).toEqual([]);
    expect(new Set(client.outcomes())).toEqual(new Set(['answered']));

    await client.stop();
    await ada.sees('ada alive', 'bob lost');
    await bob.sees('ada lost', 'bob alive');
  });
});

/** Packets to and from the ports of their heartbeats vanish; all others pass. */
async function holdUpHeartbeats(members: readonly LanMember[]): Promise<void> {
  const ports = await Promise.all(members.map(async ({ home }) => portSchema.parse(await stored(home)).port));
  for (const { machine } of members) {
    for (const port of ports) {
      for (const family of ['-4', '-6']) {
        for (const end of ['sport', 'dport']) {
          await machine.run('ip', [family, 'rule', 'add', 'ipproto', 'tcp', end, String(port), 'blackhole']);
        }
      }
    }
  }
}

async function stored(home: string): Promise<unknown> {
  return JSON.parse(await readFile(join(home, 'pool', 'membership.json'), 'utf8'));
}
