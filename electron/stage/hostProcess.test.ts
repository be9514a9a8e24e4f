import { spawn } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import { engineContract } from './engineContract.ts';
import { HostCrashed, type HostError } from './hostError.ts';
import type { HostLauncher } from './hostLauncher.ts';
import { HostProcess } from './hostProcess.ts';
import { processStart } from './processStart.ts';

const hosts: HostProcess<typeof engineContract>[] = [];

afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.close()));
});

/** Runs a script in the place of a host: what a broken host could do. */
function scripted(script: string): HostLauncher {
  return {
    launch: (_host, { onSpawn, onMessage, onStderr, onExit }) => {
      const child = spawn(process.execPath, ['-e', script], {
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
        serialization: 'advanced',
      });
      child.on('spawn', () => onSpawn(child.pid ?? 0));
      child.on('message', onMessage);
      child.stderr?.setEncoding('utf8').on('data', onStderr);
      child.on('close', (exitCode, signal) => onExit({ exitCode, signal, error: null }));
      return { pid: child.pid, send: (message) => child.send(message as object), kill: () => child.kill('SIGKILL') };
    },
  };
}

function start(script: string): { host: HostProcess<typeof engineContract>; lost: HostError[] } {
  const lost: HostError[] = [];
  const launcher = scripted(`process.on('message', (message) => { ${script} });`);
  const onLost = (error: HostError): void => {
    lost.push(error);
  };
  const host = new HostProcess({
    contract: engineContract,
    host: 'engine',
    launcher,
    onEvent: { draftProgress: () => {} },
    onLost,
  });
  hosts.push(host);
  return { host, lost };
}

const ask = (host: HostProcess<typeof engineContract>, timeoutMs = 20_000) => host.call('devices', null, timeoutMs);

test.each([
  ['a message that is none', `process.send('garbage')`],
  ['an event that there is not', `process.send({ event: 'surprise', data: 1 })`],
  ['an answer of the wrong shape', `process.send({ id: message.id, result: [{ name: 'half a device' }] })`],
])('%s ends the host with a typed error', async (_, script) => {
  const { host, lost } = start(script);
  await expect(ask(host)).rejects.toMatchObject({ kind: 'HostMisbehaved' });
  expect(lost).toMatchObject([{ kind: 'HostMisbehaved' }]);
  await host.close();
  expect(await processStart(host.pid ?? 0)).toBeNull();
  await expect(ask(host)).rejects.toBe(lost[0]);
});

test('a host that fails by itself tells how, with what it wrote', async () => {
  const { host, lost } = start(`console.error('Error: no such device'); console.error('bye'); process.exit(3)`);
  const error = await ask(host).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(HostCrashed);
  expect(error).toMatchObject({ exitCode: 3, signal: null, line: 'Error: no such device' });
  expect(lost).toEqual([error]);
});

test('a host that does not answer runs into the deadline, and one that does not leave is ended', async () => {
  const { host, lost } = start('');
  await expect(ask(host, 50)).rejects.toMatchObject({ kind: 'HostTimedOut' });
  await host.close();
  expect(await processStart(host.pid ?? 0)).toBeNull();
  expect(lost).toEqual([]);
});

test('closing twice, also at once, is as good as once', async () => {
  const { host } = start(`if (message.method === 'leave') process.exit(0)`);
  await Promise.all([host.close(), host.close()]);
  await host.close();
  await expect(ask(host)).rejects.toMatchObject({ kind: 'HostClosed' });
});
