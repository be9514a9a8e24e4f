import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HostLauncher } from './hostLauncher.ts';
import { notingLauncher, reapLeftovers } from './hostLeftovers.ts';
import { processStart } from './processStart.ts';

const SLEEP = 'setTimeout(() => {}, 60_000)';
let home: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'roomful-hosts-'));
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(home, { recursive: true, force: true });
});

/** Starts a process that only sleeps: what a host is does not matter here. */
function sleeper(): ChildProcess {
  const child = spawn(process.execPath, ['-e', SLEEP], { stdio: 'ignore' });
  children.push(child);
  return child;
}

const sleepLauncher: HostLauncher = {
  launch: (_host, { onSpawn, onExit }) => {
    const child = sleeper();
    child.on('spawn', () => onSpawn(child.pid ?? 0));
    child.on('exit', (exitCode, signal) => onExit({ exitCode, signal, error: null }));
    return { pid: child.pid, send: () => {}, kill: () => child.kill('SIGKILL') };
  },
};

async function launched(): Promise<{ pid: number; path: string; kill(): void }> {
  const listeners = { onSpawn: () => {}, onMessage: () => {}, onStderr: () => {}, onExit: () => {} };
  const child = notingLauncher(sleepLauncher, home).launch('stage', listeners);
  if (child.pid === undefined) throw new Error('no process');
  const path = join(home, 'hosts', `${child.pid}.json`);
  await eventually(() => readFile(path, 'utf8'));
  return { pid: child.pid, path, kill: () => child.kill() };
}

async function eventually<T>(look: () => Promise<T>): Promise<T> {
  for (let left = 200; ; left -= 1) {
    try {
      return await look();
    } catch (error) {
      if (left === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}

/** Rewrites a note as if another member had started the host. */
async function orphan(path: string, change: object): Promise<void> {
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), ...change }));
}

test('the hosts of a member that is gone are ended, and their notes removed', async () => {
  const { pid, path } = await launched();
  await orphan(path, { parentStart: 'another time' });
  expect(await reapLeftovers(home)).toEqual([pid]);
  expect(await processStart(pid)).toBeNull();
  expect(await readdir(join(home, 'hosts'))).toEqual([]);
});

test('the hosts of a member that lives stay', async () => {
  const { pid } = await launched();
  expect(await reapLeftovers(home)).toEqual([]);
  expect(await processStart(pid)).not.toBeNull();
});

test('a process that only has the id of a host that is gone stays', async () => {
  const { pid, path } = await launched();
  await orphan(path, { start: 'another time', parentStart: 'another time' });
  expect(await reapLeftovers(home)).toEqual([]);
  expect(await processStart(pid)).not.toBeNull();
  expect(await readdir(join(home, 'hosts'))).toEqual([]);
});

test('a host that ends takes its note with it', async () => {
  const { kill } = await launched();
  kill();
  await eventually(async () => expect(await readdir(join(home, 'hosts'))).toEqual([]));
});

test('half a note and a missing folder do no harm', async () => {
  expect(await reapLeftovers(home)).toEqual([]);
  const { path } = await launched();
  await writeFile(path, '{"pid": 1');
  expect(await reapLeftovers(home)).toEqual([]);
  expect(await readdir(join(home, 'hosts'))).toEqual([]);
});
