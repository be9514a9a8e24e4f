import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../testing/eventually.ts';
import { watchOutput } from '../testing/watchOutput.ts';
import { describeOnLan } from './describeOnLan.ts';
import { Lan } from './lan.ts';
import type { LanMachine } from './lanMachine.ts';
import { listNamespaces, removeLeftovers } from './namespaces.ts';
import { lanProgram } from './testing/lanProgram.ts';

const ECHO = `
  const server = require('node:net').createServer((socket) => socket.pipe(socket));
  server.listen(7000, '::', () => console.log('listening'));`;

/** Sends a byte and waits for it, up to a second. */
const ASK = `
  const socket = require('node:net').connect(7000, process.argv[1]);
  setTimeout(() => process.exit(3), 1000);
  socket.on('error', () => process.exit(3));
  socket.on('data', () => process.exit(0));
  socket.write('x');`;

describeOnLan('the LAN in a box', () => {
  let lan: Lan | undefined;

  afterEach(async () => {
    await lan?.close();
    lan = undefined;
  });

  async function reaches(from: LanMachine, address: string): Promise<boolean> {
    return (await from.start(process.execPath, ['-e', ASK, address]).exit) === 0;
  }

  test('machines reach each other until they are cut off, and again when healed', async () => {
    lan = await Lan.create(3);
    const [first, second, third] = [lan.machine(1), lan.machine(2), lan.machine(3)];
    await third.start(process.execPath, ['-e', ECHO]).says(/listening/);
    await second.start(process.execPath, ['-e', ECHO]).says(/listening/);
    expect(await reaches(first, third.ipv4)).toBe(true);
    expect(await reaches(first, third.ipv6)).toBe(true);
    expect(await reaches(first, 'fe80::0:4%eth0')).toBe(true);

    await lan.split([first, second], [third]);
    expect(await reaches(first, third.ipv4)).toBe(false);
    expect(await reaches(first, second.ipv4)).toBe(true);

    await lan.cut(second);
    expect(await reaches(first, second.ipv4)).toBe(false);

    await lan.heal();
    expect(await reaches(first, third.ipv4)).toBe(true);
    expect(await reaches(first, second.ipv4)).toBe(true);

    await lan.unplug(first);
    expect(await first.run('ip', ['-br', 'link', 'show', 'eth0'])).toMatch(/DOWN|LOWERLAYERDOWN/);
    expect(await reaches(first, third.ipv4)).toBe(false);
    await lan.heal();
    expect(await reaches(first, third.ipv6)).toBe(true);
  });

  test('a further network joins only the machines that have a card on it', async () => {
    lan = await Lan.create(3);
    const [first, second, third] = [lan.machine(1), lan.machine(2), lan.machine(3)];
    await lan.addCards('wlan0', 1, [first, second]);
    await second.start(process.execPath, ['-e', ECHO]).says(/listening/);
    expect(await reaches(first, '10.77.1.3')).toBe(true);
    expect(await reaches(third, '10.77.1.3')).toBe(false);
    await lan.unplug(second);
    expect(await reaches(first, '10.77.1.3')).toBe(true);
  });

  test('a paused process keeps its connections and says nothing; a killed one is gone', async () => {
    lan = await Lan.create(2);
    const [first, second] = [lan.machine(1), lan.machine(2)];
    const echo = second.start(process.execPath, ['-e', ECHO]);
    await echo.says(/listening/);
    echo.pause();
    expect(await reaches(first, second.ipv4)).toBe(false);
    echo.resume();
    expect(await reaches(first, second.ipv4)).toBe(true);
    await echo.kill();
    expect(echo.running).toBe(false);
    await expect(second.run('false', [])).rejects.toThrow('false  ended with 1');
  });

  test('what a killed test leaves behind dies at once, and is removed by the next one', async () => {
    const owner = spawn(process.execPath, [lanProgram('abandonLan')]);
    const [, pid] = await watchOutput(owner, 'abandonLan').says(/pid (\d+)\n/);
    const left = (await listNamespaces()).filter((name) => name.startsWith(`roomful-${owner.pid}-`));
    expect(left).toHaveLength(2);

    owner.kill('SIGKILL');
    await once(owner, 'close');
    await eventually(() => expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH'));
    await removeLeftovers();
    const there = await listNamespaces();
    for (const name of left) expect(there).not.toContain(name);
  });

  test('a test runner that is killed takes its machines along', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'roomful-killed-'));
    try {
      const lanFile = new URL('../../dist/e2e/lan/lan.js', import.meta.url);
      await writeFile(
        join(folder, 'endless.test.mjs'),
        `import { writeFileSync } from 'node:fs';
        import { Lan } from '${lanFile}';
        test('never ends', async () => {
          const lan = await Lan.create(1);
          writeFileSync('pids', [process.pid, lan.machine(1).start('sleep', ['600']).pid].join(' '));
          await new Promise(() => {});
        }, 600_000);`,
      );
      const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
      const runner = spawn(process.execPath, [vitest, 'run', '--globals', '--root', folder], { cwd: folder });
      const pids = await eventually(() => readFile(join(folder, 'pids'), 'utf8'));
      const [worker = 0, sleeper = 0] = pids.split(' ').map(Number);
      const left = (await listNamespaces()).filter((name) => name.startsWith(`roomful-${worker}-`));
      expect(left).toHaveLength(2);

      runner.kill('SIGKILL');
      for (const pid of [worker, sleeper]) await eventually(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'));
      lan = await Lan.create(1);
      const there = await listNamespaces();
      for (const name of left) expect(there).not.toContain(name);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test('a LAN takes its processes and namespaces with it', async () => {
    const closed = await Lan.create(2);
    const paused = closed.machine(1).start('sleep', ['600']);
    paused.pause();
    const names = closed.machines.map(({ namespace }) => namespace);
    expect(await listNamespaces()).toEqual(expect.arrayContaining(names));
    await closed.close();
    expect(paused.running).toBe(false);
    for (const name of await listNamespaces()) expect(names).not.toContain(name);
  });
});
