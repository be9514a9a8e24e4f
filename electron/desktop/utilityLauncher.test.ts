import { expect, test } from 'vitest';
import { EngineClient } from '../stage/engineClient.ts';
import { HostError } from '../stage/hostError.ts';
import { utilityLauncher } from './utilityLauncher.ts';

test('a host runs as a utility process and leaves when it is told to', async () => {
  const engine = await EngineClient.start(utilityLauncher, () => {});
  expect((await engine.devices()).map(({ kind }) => kind)).toContain('cpu');
  await engine.close();
});

test('a host that dies is told once, and the member lives on', async () => {
  const lost: HostError[] = [];
  const engine = await EngineClient.start(utilityLauncher, (error) => lost.push(error));
  const { pid } = engine;
  if (pid === undefined) throw new Error('The host has no process id.');
  process.kill(pid, 'SIGKILL');
  await expect(engine.devices()).rejects.toBeInstanceOf(HostError);
  await engine.close();
  expect(lost).toHaveLength(1);
});

test('a host that is killed before it has started ends all the same', async () => {
  const exit = new Promise((resolve) => {
    const child = utilityLauncher.launch('engine', {
      onSpawn: () => {},
      onMessage: () => {},
      onStderr: () => {},
      onExit: resolve,
    });
    expect(child.pid).toBeUndefined();
    child.kill();
  });
  expect(await exit).toMatchObject({ signal: null });
});
