import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAddon } from './loadAddon.ts';
import type { NativeStage, NativeStep } from './nativeAddon.ts';
import { demoOptions, greedy } from './testing/demoModel.ts';
import { runScenario, scenarioArguments } from './testing/runScenario.ts';

const { addon } = loadAddon();
const long = { contextLength: 4096, batch: 2048, slots: 2 };

function step(count: number, start = 0): NativeStep {
  const run = { slot: 0, start, tokens: new Int32Array(count).fill(7), truncateTo: start, sampling: greedy };
  return { runs: [run], input: null, output: null, outputFormat: 'f32' };
}

const failure = (code: string) => expect.objectContaining({ code });

describe('cancel', () => {
  let stage: NativeStage;
  beforeAll(async () => {
    stage = await addon.loadStage(demoOptions(long), () => undefined);
  });
  afterAll(() => stage.unload());

  it('rejects the running and all queued steps, and leaves what was held before', async () => {
    const expected = await stage.decode(step(10));
    const steps = [stage.decode(step(2000, 5)), stage.decode(step(2000, 5)), stage.decode(step(1, 5))];
    await new Promise((resolve) => setTimeout(resolve, 10));
    stage.cancel();
    for (const promise of steps) await expect(promise).rejects.toEqual(failure('Cancelled'));
    // The slot was cut to 5 tokens by the first of them, and nothing of the rest stayed.
    expect((await stage.decode(step(5, 5))).sampled).toEqual(expected.sampled);
  });

  it('does not touch what comes after it, bookkeeping or steps', async () => {
    const cancelled = stage.decode(step(2000));
    const closed = stage.closeSlot(0);
    stage.cancel();
    stage.cancel();
    const next = stage.decode(step(3));
    await expect(cancelled).rejects.toEqual(failure('Cancelled'));
    await closed;
    expect((await next).sampled[0]?.position).toBe(3);
  });

  it('of an idle stage does nothing', async () => {
    stage.cancel();
    expect((await stage.decode(step(3))).sampled).toHaveLength(1);
  });
});

describe('unload', () => {
  it('runs what is queued first and refuses what comes later', async () => {
    const stage = await addon.loadStage(demoOptions(long), () => undefined);
    const order: string[] = [];
    const decoded = stage.decode(step(300)).then(() => order.push('decoded'));
    const truncated = stage.truncate(0, 10).then(() => order.push('truncated'));
    const unloaded = stage.unload().then(() => order.push('unloaded'));
    const late = [stage.decode(step(1)), stage.closeSlot(0), stage.truncate(0, 0), stage.copyPrefix(0, 1, 0)];
    for (const promise of [...late, stage.unload()]) await expect(promise).rejects.toEqual(failure('Unloaded'));
    expect(() => stage.memory()).toThrow(failure('Unloaded'));
    stage.cancel();
    await Promise.all([decoded, truncated, unloaded]);
    expect(order).toEqual(['decoded', 'truncated', 'unloaded']);
  });
});

describe('loading', () => {
  it('reports growing progress that ends at 1', async () => {
    const fractions: number[] = [];
    const stage = await addon.loadStage(demoOptions(), (fraction) => fractions.push(fraction));
    expect(fractions.at(-1)).toBe(1);
    expect(fractions).toEqual([...fractions].sort((a, b) => a - b));
    expect(fractions.length).toBeGreaterThan(5);
    await stage.unload();
  });

  it('stops for an AbortSignal, before or while it runs', async () => {
    await expect(addon.loadStage(demoOptions(), () => undefined, AbortSignal.abort())).rejects.toEqual(
      failure('Cancelled'),
    );
    const controller = new AbortController();
    const load = addon.loadStage(demoOptions(), () => controller.abort(), controller.signal);
    await expect(load).rejects.toEqual(failure('Cancelled'));
  });

  it('leaves a stage alone whose signal fires after the load', async () => {
    const controller = new AbortController();
    const stage = await addon.loadStage(demoOptions(), () => undefined, controller.signal);
    controller.abort();
    expect((await stage.decode(step(3))).sampled).toHaveLength(1);
    await stage.unload();
  });

  it('of two stages at once gives two that compute beside each other', async () => {
    const stages = await Promise.all([1, 2].map(() => addon.loadStage(demoOptions(), () => undefined)));
    const results = await Promise.all(stages.map((stage) => stage.decode(step(40))));
    expect(results[0]?.sampled).toEqual(results[1]?.sampled);
    await Promise.all(stages.map((stage) => stage.unload()));
  });
});

describe('the end of a process', () => {
  it.each(['everything', 'idle', 'drop', 'worker'])('is clean: %s', async (scenario) => {
    expect(await runScenario(scenario)).toEqual({ exit: 0, output: '' });
  });

  // A thread that still computed would meet destroyed objects of llama.cpp, though not every time.
  it.each(['exitWhileComputing', 'exitWhileLoading'])('is clean, often: %s', { repeats: 4 }, async (scenario) => {
    expect(await runScenario(scenario)).toEqual({ exit: 0, output: '' });
  });

  it('comes with that of its parent, event loop blocked or not', async () => {
    const parent = spawn(process.execPath, scenarioArguments('parent'), { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(createInterface({ input: parent.stdout }), 'line');
    const orphan = Number(line);
    expect(isAlive(orphan)).toBe(true);
    parent.kill('SIGKILL');
    while (isAlive(orphan)) await new Promise((resolve) => setTimeout(resolve, 20));
  });

  it('comes at once when the parent is gone already', async () => {
    const gone = spawn(process.execPath, ['-e', '']);
    await once(gone, 'exit');
    expect(await runScenario('lateOrphan', { arg: String(gone.pid) })).toMatchObject({ exit: 'SIGKILL' });
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
