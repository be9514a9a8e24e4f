import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import { Lan } from './lan.ts';
import { LanMember } from './testing/lanMember.ts';

const roomful = fileURLToPath(new URL('../../dist/electron/cli/main.js', import.meta.url));
const PASSPHRASE = 'three words and a number 4';
const doctorSchema = z.object({
  problems: z.array(z.string()),
  network: z.object({ multicast: z.object({ state: z.string() }).nullable() }),
});

describeOnLan('the commands about the pool', () => {
  /** Commands are processes, which take their time on a busy machine. */
  vi.setConfig({ testTimeout: 240_000 });
  let folder: string;
  let lan: Lan;
  let ada: LanMember;
  let bob: LanMember;
  let cyd: LanMember;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roomful-commands-'));
    lan = await Lan.create(3);
    const member = (number: number, name: string) => new LanMember(name, lan.machine(number), join(folder, name));
    [ada, bob, cyd] = [member(1, 'ada'), member(2, 'bob'), member(3, 'cyd')];
    await Promise.all([ada.up(), bob.up(), cyd.up('--no-mdns')]);
    await ada.run('create', 'Attic');
    for (const other of [bob, cyd]) await other.run('join', await ada.invite());
    for (const by of [ada, bob, cyd]) await by.sees('ada alive', 'bob alive', 'cyd alive');
  });

  afterEach(async () => {
    await lan.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Runs a command that reads one line from its standard input; answers what it printed. */
  async function tell(member: LanMember, line: string, ...args: string[]): Promise<string> {
    const started = member.machine.start(process.execPath, [roomful, ...args, '--home', member.home]);
    started.write(`${line}\n`);
    if ((await started.exit) !== 0) throw new Error(started.stderr());
    return started.stdout();
  }

  test('a member without multicast is no sign that multicast is blocked', async () => {
    await eventually(async () => {
      const report = doctorSchema.parse(JSON.parse(await ada.run('doctor', '--json')));
      expect(report).toEqual({ problems: [], network: { multicast: { state: 'works' } } });
    });
    const without = doctorSchema.parse(JSON.parse(await cyd.run('doctor', '--json')));
    expect(without).toEqual({ problems: [], network: { multicast: null } });
  });

  test('a pinned member leads next, also after its restart, though another comes first by itself', async () => {
    const [last, other] = bob.id > cyd.id ? [bob, cyd] : [cyd, bob];
    await last.run('pin');
    await last.kill();
    await last.up();
    for (const by of [ada, bob, cyd]) await by.sees('ada alive', 'bob alive', 'cyd alive');
    expect(ada.leader()).toBe(ada.id);
    expect(await other.run('members')).toMatch(/pinned/);
    await ada.kill();
    await eventually(() => expect(other.leader()).toBe(last.id));
    expect(JSON.parse(await last.run('unpin', '--json'))).toMatchObject({ coordinator: last.id });
    expect(await other.run('members')).not.toMatch(/pinned/);
  });

  test('the pool is renamed for all, and its exported key makes another admin', async () => {
    expect(JSON.parse(await ada.run('rename-pool', 'Cellar', '--json'))).toMatchObject({ pool: { name: 'Cellar' } });
    await eventually(async () => expect((await bob.status()).pool?.name).toBe('Cellar'));
    await expect(bob.run('rename-pool', 'Mine')).rejects.toThrow(/Only an admin/);

    const file = join(folder, 'attic.key');
    const answer = await tell(ada, PASSPHRASE, 'export-authority', file, '--json');
    expect(JSON.parse(answer)).toEqual({ file });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, 'utf8')).not.toMatch(/PRIVATE|three words/);
    await expect(tell(ada, PASSPHRASE, 'export-authority', file)).rejects.toThrow(/is there already/);
    await expect(tell(ada, 'short', 'export-authority', `${file}2`)).rejects.toThrow(/at least 12 characters/);
    await expect(tell(bob, PASSPHRASE, 'export-authority', `${file}3`)).rejects.toThrow(/Only an admin/);
    await expect(tell(bob, 'three words and a number 5', 'import-authority', file)).rejects.toThrow(
      /passphrase is wrong/,
    );
    await expect(bob.run('invite')).rejects.toThrow(/Only an admin/);
    await tell(bob, PASSPHRASE, 'import-authority', file);
    expect(await bob.invite()).toMatch(/\S{20,}/);
    expect(await bob.run('remove', 'cyd')).toMatch(/cyd is removed/);
    await eventually(async () => expect((await cyd.status()).pool).toBeNull());
  });
});
