import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatInvite, parseInvite } from '../../electron/pool/trust/inviteToken.ts';
import { eventually } from '../testing/eventually.ts';
import { describeOnLan } from './describeOnLan.ts';
import type { LanMachine } from './lanMachine.ts';
import type { LanMember } from './testing/lanMember.ts';
import { LanPool, oneReign } from './testing/lanPool.ts';
import { lanProgram } from './testing/lanProgram.ts';
import { openPorts } from './testing/openPorts.ts';

const MIB = 2 ** 20;
/** Connections of each kind at each listener. */
const FLOOD = 10_000;
const HELD_AT_ONCE = 2000;

describeOnLan('strangers, and members that are none any more', () => {
  let pool: LanPool;
  let ada: LanMember;
  let bob: LanMember;
  /** In a pool of its own. */
  let eve: LanMember;
  /** No member runs on it. */
  let outside: LanMachine;

  beforeAll(async () => {
    pool = await LanPool.start({ members: 3, spare: 1 });
    [ada, bob, eve, outside] = [pool.member(1), pool.member(2), pool.member(3), pool.machine(4)];
    await ada.run('create', 'Attic');
    await eve.run('create', 'Payroll');
  });

  afterAll(async () => {
    await pool.close();
  });

  test('an altered, foreign, expired or used token and a replayed join are refused, and a good one works afterwards', async () => {
    const [good, brief, once] = [await ada.invite(), await ada.invite('--minutes', '0.02'), await ada.invite()];
    const invite = parseInvite(good);
    const elsewhere = parseInvite(await eve.invite());
    const typo = `${good.slice(0, 40)}${good[40] === 'A' ? 'B' : 'A'}${good.slice(41)}`;
    await expect(bob.join(typo)).rejects.toThrow(/The invite token is damaged/);
    // Whoever alters it knowingly makes the checksum right as well.
    const later = formatInvite({ ...invite, expiresAtMs: invite.expiresAtMs + 3_600_000 });
    await expect(bob.join(later)).rejects.toThrow(/has been changed/);
    const secret = formatInvite({ ...invite, secret: Buffer.alloc(16, 7) });
    await expect(bob.join(secret)).rejects.toThrow(/pool/);
    // The token of one pool at the door of another, both ways.
    const foreign = formatInvite({ ...elsewhere, hosts: invite.hosts, port: invite.port });
    await expect(bob.join(foreign)).rejects.toThrow(/its pool is another one/);
    const misled = formatInvite({ ...invite, hosts: elsewhere.hosts, port: elsewhere.port });
    await expect(bob.join(misled)).rejects.toThrow(/its pool is another one/);
    await eventually(() => expect(Date.now()).toBeGreaterThan(parseInvite(brief).expiresAtMs));
    await expect(bob.join(brief)).rejects.toThrow(/expired/);

    const replayed = await outside.run(process.execPath, [
      lanProgram('replayJoin'),
      join(pool.folder, 'mal'),
      'mal',
      once,
    ]);
    expect(JSON.parse(replayed)).toEqual(['BadInvite', 'admitted', 'BadInvite']);
    await expect(bob.join(once)).rejects.toThrow(/used/);
    expect((await bob.status()).pool).toBeNull();
    expect(ada.seen()).toEqual(['ada alive', 'mal lost']);
    expect(eve.seen()).toEqual(['cyd alive']);
    await ada.run('remove', 'mal');

    await bob.join(good);
    for (const by of [ada, bob]) await by.sees('ada alive', 'bob alive');
  });

  test('a certificate of another pool, an older epoch and a removed member get nowhere at any door', async () => {
    await ada.kill();
    await bob.sees('ada lost', 'bob alive');
    await oneReign([bob]);
    await ada.up();
    for (const by of [ada, bob]) await by.sees('ada alive', 'bob alive');
    const { counter } = await oneReign([ada, bob]);
    expect(counter).toBeGreaterThan(1);
    const older = { counter: counter - 1, coordinator: bob.id };
    const byEve = await tryCalls(eve.machine, eve.home, older);
    expect(new Set(Object.values(byEve))).toEqual(new Set(['PeerUnreachable']));
    const byBob = await tryCalls(bob.machine, bob.home, older);
    expect(byBob).toEqual({ hello: 'ok', heartbeat: 'ok', order: 'StaleEpoch' });
    const inAnothersName = await tryCalls(bob.machine, bob.home, { counter: counter + 1, coordinator: ada.id });
    expect(inAnothersName.order).toBe('WrongMember');
    // Neither its order nor its heartbeats may use up the epochs that the others need.
    const beyond = await tryCalls(bob.machine, bob.home, { counter: 2 ** 40, coordinator: bob.id });
    expect(beyond).toEqual({ hello: 'ok', heartbeat: 'ok', order: 'UnknownEpoch' });
    await eventually(async () =>
      expect(await readFile(join(ada.home, 'roomful.log'), 'utf8')).toContain('cannot have come to'),
    );
    expect((await oneReign([ada, bob])).counter).toBe(counter);
    const fence = JSON.parse(await readFile(join(ada.home, 'pool', 'fence.json'), 'utf8'));
    expect(fence.epoch.counter).toBe(counter);

    // A removed member forgets its certificate; a stubborn one keeps it.
    const kept = join(pool.folder, 'kept');
    await cp(bob.home, kept, { recursive: true });
    await ada.run('remove', 'bob');
    await ada.sees('ada alive');
    await eventually(async () => expect((await bob.status()).pool).toBeNull());
    const byRemoved = await tryCalls(bob.machine, kept, { counter: 9, coordinator: bob.id });
    expect(new Set(Object.values(byRemoved))).toEqual(new Set(['NotAdmitted']));
    expect(ada.seen()).toEqual(['ada alive']);
    expect((await oneReign([ada])).leader).toBe(ada.id);

    await bob.join(await ada.invite());
    for (const by of [ada, bob]) await by.sees('ada alive', 'bob alive');
  });

  test('floods at all doors keep nobody out, make nobody lost, and take no memory', async () => {
    // Leaves the door for joins open.
    const token = await ada.invite();
    const ports = openPorts(ada.process.pid);
    expect(ports).toHaveLength(3);
    expect(ports).toContain(parseInvite(token).port);
    const addresses = ports.map((port) => `${ada.machine.ipv4}:${port}`);
    const flood = outside.start(process.execPath, [lanProgram('flood'), ...addresses]);
    let orders = 0;
    const order = async (line: string): Promise<void> => {
      orders += 1;
      flood.write(`${line}\n`);
      await flood.says(new RegExp(`^(done\\n){${orders}}`));
    };
    // Buffers and pages that are kept for the next connection do not count.
    await order(`garbage ${FLOOD / 2}`);
    await order(`hold ${HELD_AT_ONCE}`);
    await order('release');
    const before = await residentBytes(ada);
    const from = [ada, bob].map((each) => each.history().length);

    const since = performance.now();
    await order(`garbage ${FLOOD}`);
    for (let held = 0; held < FLOOD; held += HELD_AT_ONCE) {
      await order(`hold ${HELD_AT_ONCE}`);
      if (held === 0) {
        await eve.run('leave', '--abandon');
        await eve.join(token);
      }
      for (const by of [ada, bob]) await by.sees('ada alive', 'bob alive', 'cyd alive');
      await order('release');
    }
    const grown = ((await residentBytes(ada)) - before) / MIB;
    console.log(
      `${6 * FLOOD} connections in ${Math.round(performance.now() - since)} ms: ${Math.round(grown)} MiB more`,
    );
    const seen = [ada, bob].flatMap((each, index) => each.history().slice(from[index]).flat());
    expect(seen.filter(({ name, state }) => name !== 'cyd' && state === 'lost')).toEqual([]);
    await oneReign([ada, bob, eve]);
    expect(grown).toBeLessThan(64);
  });

  /** What becomes of calls to ada with the key and certificate of a data folder. */
  async function tryCalls(
    from: LanMachine,
    home: string,
    epoch: { counter: number; coordinator: string },
  ): Promise<Record<string, string>> {
    const door = parseInvite(await ada.invite()).port;
    const control = (await ada.status()).members.find(({ self }) => self)?.address ?? '';
    const known = [door, Number(control.split(':').at(-1))];
    const [heartbeat, ...others] = openPorts(ada.process.pid).filter((port) => !known.includes(port));
    expect(others).toEqual([]);
    const calls = {
      home,
      ca: join(ada.home, 'pool', 'ca.pem'),
      member: ada.id,
      control,
      heartbeat: `${ada.machine.ipv4}:${heartbeat}`,
      epoch,
    };
    return JSON.parse(await from.run(process.execPath, [lanProgram('tryCalls'), JSON.stringify(calls)]));
  }
});

async function residentBytes({ process: { pid } }: LanMember): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}
