import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import type { LanMember } from './testing/lanMember.ts';
import { LanPool } from './testing/lanPool.ts';

const PASSPHRASE = 'three words and a number 4';
const doctorSchema = z.object({
  problems: z.array(z.string()),
  network: z.object({ multicast: z.object({ state: z.string() }).nullable() }),
});

describeOnLan('the commands about the pool', () => {
  /** Commands are processes, which take their time on a busy machine. */
  vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });
  let pool: LanPool;
  let ada: LanMember;
  let bob: LanMember;
  /** Without multicast. */
  let cyd: LanMember;

  beforeAll(async () => {
    pool = await LanPool.start({ members: 2, spare: 1 });
    [ada, bob] = [pool.member(1), pool.member(2)];
    cyd = pool.newcomer('cyd', pool.machine(3));
    await Promise.all([pool.joinAll(), cyd.up('--no-mdns')]);
    await cyd.join(await ada.invite());
    await allAlive();
  });

  afterAll(async () => {
    await pool.close();
  });

  const allAlive = async (): Promise<void> => {
    for (const by of [ada, bob, cyd]) await by.sees('ada alive', 'bob alive', 'cyd alive');
  };

  test('a member without multicast is no sign that multicast is blocked', async () => {
    await eventually(async () => {
      const report = doctorSchema.parse(JSON.parse(await ada.run('doctor', '--json')));
      expect(report).toEqual({ problems: [], network: { multicast: { state: 'works' } } });
    });
    const without = doctorSchema.parse(JSON.parse(await cyd.run('doctor', '--json')));
    expect(without).toEqual({ problems: [], network: { multicast: null } });
  });

  test("what a machine shares is its owner's to set, and stays so", async () => {
    const changed = JSON.parse(await bob.run('sharing', '--memory', '2GB', '--battery', 'off', '--json'));
    expect(changed).toMatchObject({ memoryBytes: 2e9, manners: { battery: { pause: false }, heat: { pause: true } } });
    await eventually(async () => {
      const { members } = await ada.status();
      expect(members.find(({ name }) => name === 'bob')?.shareBytes).toBe(2e9);
    });
    await bob.stop();
    await bob.up();
    // What `up --memory` says counts for its run.
    expect(JSON.parse(await bob.run('sharing', '--json'))).toEqual({ ...changed, memoryBytes: 1e9 });
    await allAlive();
  });

  test('a pinned member leads next, also after its restart, though another comes first by itself', async () => {
    const [last, other] = bob.id > cyd.id ? [bob, cyd] : [cyd, bob];
    await last.run('pin');
    await last.kill();
    await last.up(...(last === cyd ? ['--no-mdns'] : []));
    await allAlive();
    expect(ada.leader()).toBe(ada.id);
    await eventually(async () => expect(await other.run('members')).toMatch(/pinned/));
    await ada.kill();
    await eventually(() => expect(other.leader()).toBe(last.id));
    expect(JSON.parse(await last.run('unpin', '--json'))).toMatchObject({ coordinator: last.id });
    await eventually(async () => expect(await other.run('members')).not.toMatch(/pinned/));
    await ada.up();
    await allAlive();
  });

  test('the pool is renamed for all, and its exported key makes another admin', async () => {
    expect(JSON.parse(await ada.run('rename-pool', 'Cellar', '--json'))).toMatchObject({ pool: { name: 'Cellar' } });
    await eventually(async () => expect((await bob.status()).pool?.name).toBe('Cellar'));
    await expect(bob.run('rename-pool', 'Mine')).rejects.toThrow(/Only an admin/);

    const file = join(pool.folder, 'attic.key');
    const answer = await ada.tell(`${PASSPHRASE}\n`, 'export-authority', file, '--json');
    expect(JSON.parse(answer)).toEqual({ file });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, 'utf8')).not.toMatch(/PRIVATE|three words/);
    await expect(ada.tell(`${PASSPHRASE}\n`, 'export-authority', file)).rejects.toThrow(/is there already/);
    await expect(ada.tell('short\n', 'export-authority', `${file}2`)).rejects.toThrow(/at least 12 characters/);
    await expect(bob.tell(`${PASSPHRASE}\n`, 'export-authority', `${file}3`)).rejects.toThrow(/Only an admin/);
    await expect(bob.tell('three words and a number 5\n', 'import-authority', file)).rejects.toThrow(
      /passphrase is wrong/,
    );
    await expect(bob.run('invite')).rejects.toThrow(/Only an admin/);
    await bob.tell(`${PASSPHRASE}\n`, 'import-authority', file);
    expect(await bob.invite()).toMatch(/\S{20,}/);
    expect(await bob.run('remove', 'cyd')).toMatch(/cyd is removed/);
    await eventually(async () => expect((await cyd.status()).pool).toBeNull());
  });

  test('what cannot be done is said in one plain line', async () => {
    for (const [by, args, line] of [
      [cyd, ['remove', 'ada'], 'This machine is in no pool. Create one, or join with an invite token.'],
      [ada, ['remove', 'nobody'], 'No member of the pool is called nobody. `roomful members` lists them.'],
      [ada, ['rename', ''], 'name: It is empty.'],
      [cyd, ['join', ''], 'token: It is empty.'],
      [cyd, ['join', 'x'.repeat(20_000)], 'token: It is too long.'],
      [cyd, ['join', 'x'], 'This is no invite token of Roomful. Copy the whole token, or ask for a new one.'],
      [ada, ['create'], 'This machine is in the pool Cellar. Leave it first.'],
    ] as const) {
      await expect(by.run(...args)).rejects.toThrow(`roomful: ${line}`);
    }
  });
});
