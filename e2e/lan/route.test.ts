import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TestMember, TestPool } from '../testing/testPool.ts';
import { describeOnLan } from './describeOnLan.ts';
import { Lan } from './lan.ts';
import type { LanMachine } from './lanMachine.ts';
import type { LanProcess } from './lanProcess.ts';
import { lanProgram } from './testing/lanProgram.ts';

describeOnLan('the way to a member', () => {
  let lan: Lan;
  let pool: TestPool;

  beforeEach(async () => {
    pool = await TestPool.create();
    lan = await Lan.create(3);
  });

  afterEach(async () => {
    await lan.close();
    await pool.remove();
  });

  async function start(machine: LanMachine, name: string, owner: TestMember, ...args: string[]): Promise<LanProcess> {
    const file = join(owner.home, 'tls.json');
    await writeFile(file, JSON.stringify(owner.tls), { mode: 0o600 });
    const started = machine.start(process.execPath, [lanProgram(name), file, ...args]);
    await started.says(/ready|listening/);
    return started;
  }

  test('dead addresses and other members are passed over, the winner is kept, and replaced when its card dies', async () => {
    const [first, second, third] = [lan.machine(1), lan.machine(2), lan.machine(3)];
    await lan.addCards('wlan0', 1, [first, second]);
    const [self, peer, other] = [await pool.member(), await pool.member(), await pool.member()];
    await start(second, 'answer', peer);
    await start(third, 'answer', other);
    const route = await start(first, 'route', self, peer.id);

    // A dead address of the subnet, another member's, one that is closed, and the right ones, the wireless named first.
    route.write('to 10.77.0.99:7000 10.77.0.4:7000 10.77.0.3:7001 10.77.1.3:7000 10.77.0.3:7000 [fe80::3%eth0]:7000\n');
    await route.says(/pinned 10\.77\.0\.3:7000 unknown 10\.77\.0\.2 LocalDirect\n/);

    await lan.unplug(second);
    route.write('died 10.77.0.3:7000\n');
    await route.says(/pinned 10\.77\.1\.3:7000 wireless 10\.77\.1\.2 LocalDirect\n/);

    // The cable is plugged in again, and discovery names the address anew.
    await lan.heal();
    route.write('to 10.77.1.3:7000\nto [fe80::3%eth0]:7000 10.77.1.3:7000\n');
    await route.says(/pinned \[fe80::3%eth0\]:7000 unknown fe80::2(%eth0)? LocalDirect\n/);
  });

  test('a member that hangs is no answer, and the reason names every address', async () => {
    const [self, peer, other] = [await pool.member(), await pool.member(), await pool.member()];
    const answering = await start(lan.machine(2), 'answer', peer);
    await start(lan.machine(3), 'answer', other);
    const route = await start(lan.machine(1), 'route', self, peer.id);
    answering.pause();
    route.write('to 10.77.0.3:7000 10.77.0.4:7000\nask\n');
    const [said] = await route.says(/no answer .*\n/);
    expect(said).toContain('10.77.0.3:7000');
    expect(said).toContain('no answer within 1000 ms');
    expect(said).toContain(`At 10.77.0.4:7000 member ${peer.id} was expected but ${other.id} answered`);
    answering.resume();
    route.write('ask\n');
    await route.says(/\nanswer 10\.77\.0\.3:7000\n/);
  });
});
