import { expect, test } from 'vitest';
import { EngineClient } from './engineClient.ts';
import { HostPids } from './hostPids.ts';
import { nodeLauncher } from './nodeLauncher.ts';

test('the hosts of a launcher are known by their process ids for as long as they live', async () => {
  const hosts = new HostPids();
  const engine = await EngineClient.start(hosts.watch(nodeLauncher), () => {});
  expect([...hosts.pids]).toEqual([engine.pid]);
  await engine.close();
  expect(hosts.pids.size).toBe(0);
});
