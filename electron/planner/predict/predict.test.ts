import { describe, expect, test } from 'vitest';
import { equalLayers } from '../equalLayers.ts';
import type { Member } from '../member.ts';
import { plan } from '../plan.ts';
import type { PlanOptions } from '../planOptions.ts';

/** 10 layers of 100 MB and nothing else: every number can be worked out in the head. */
const model = { ...equalLayers(10, 100e6), hiddenSize: 5000, parameters: 2e9 };
const member = (address: string, gigabytes: number, more: Partial<Member> = {}): Member => ({
  address,
  backend: 'Cuda',
  memoryBytes: gigabytes * 1e9,
  bandwidth: 100e9,
  flops: 1e12,
  build: 'c1',
  ...more,
});
const options: PlanOptions = {
  headroom: 0,
  batch: 100,
  contextLength: 256,
  slots: 4,
  coordinator: 'a',
  promptTokens: 400,
};
const link = (from: string, to: string, rttMs: number, bytesPerSecond = 1e7) => ({ from, to, rttMs, bytesPerSecond });
const firstOf = (members: Member[], more: PlanOptions = {}) => {
  const result = plan(members, model, { ...options, ...more });
  const [pipeline] = result.pipelines;
  if (pipeline === undefined) throw new Error(result.explain.join('\n'));
  return pipeline.prediction;
};

describe('one member', () => {
  test('reads all weights once for each token: 1 GB at 100 GB/s', () => {
    const { stages, hops, tokensPerSecond, entryMs, exitMs } = firstOf([member('a', 2)]);
    expect(stages).toEqual([{ address: 'a', ms: 10 }]);
    expect({ hops, entryMs, exitMs }).toEqual({ hops: [], entryMs: 0, exitMs: 0 });
    expect(tokensPerSecond).toBeCloseTo(100);
  });

  test('serves four at once in steps of four: arithmetic counts when it is slower than reading', () => {
    // 2 x 2e9 operations a token: 4 ms each, so 16 ms for four are slower than 10 ms of reading.
    expect(firstOf([member('a', 2)]).tokensPerSecondMany).toBeCloseTo(4000 / 16);
    expect(firstOf([member('a', 2, { flops: 1e13 })]).tokensPerSecondMany).toBeCloseTo(4000 / 10);
  });

  test('takes a prompt in chunks of the batch: four of 100 tokens, 400 ms each', () => {
    expect(firstOf([member('a', 2)]).firstTokenMs).toBeCloseTo(4 * 400);
    expect(firstOf([member('a', 2)], { promptTokens: 50 }).firstTokenMs).toBeCloseTo(200);
  });

  test('that does not lead is a round trip away', () => {
    const links = [link('a', 'b', 6), link('b', 'a', 2)];
    const { entryMs, exitMs, tokensPerSecond } = firstOf([member('a', 0.5), member('b', 2)], { links });
    expect(entryMs).toBeCloseTo(3, 2);
    expect(exitMs).toBeCloseTo(1, 2);
    expect(tokensPerSecond).toBeCloseTo(1000 / (10 + entryMs + exitMs));
  });
});

describe('two members', () => {
  const room = [member('a', 0.7), member('b', 0.7)];
  const links = [link('a', 'b', 4), link('b', 'a', 4)];

  test('take the sum of their reads, the hop and the way back', () => {
    const { stages, hops, entryMs, exitMs, tokensPerSecond } = firstOf(room, { links });
    const total = stages.reduce((sum, { ms }) => sum + ms, 0);
    expect(total).toBeCloseTo(10);
    // 10,000 bytes of fp16 activations at 10 MB/s are 1 ms, half a round trip is 2 ms.
    expect(hops).toEqual([{ from: 'a', to: 'b', ms: 3 }]);
    expect(entryMs).toBe(0);
    expect(exitMs).toBeCloseTo(2, 2);
    expect(tokensPerSecond).toBeCloseTo(1000 / 15, 1);
  });

  test('send twice as much when exact', () => {
    expect(firstOf(room, { links, exact: true }).hops[0]?.ms).toBeCloseTo(4);
  });

  test('serve many in two micro-batches of two, as fast as the slowest stage or the way round', () => {
    const quick = room.map((each) => ({ ...each, flops: 1e14 }));
    const { stages, tokensPerSecondMany } = firstOf(quick, { links: [link('a', 'b', 0), link('b', 'a', 0)] });
    const slowest = Math.max(...stages.map(({ ms }) => ms));
    // The hop of two rows takes 2 ms; a step goes round in 12 ms, but the slower stage is busy for twice its time.
    expect(tokensPerSecondMany).toBeCloseTo(4000 / Math.max(2 * slowest, 12), 0);
  });

  test('a slow link bounds what many get', () => {
    const slow = [link('a', 'b', 0, 1e5), link('b', 'a', 0, 1e5)];
    // Two rows of 10,000 bytes at 100 KB/s: 200 ms for each of two micro-batches.
    expect(firstOf(room, { links: slow }).tokensPerSecondMany).toBeCloseTo(4000 / 400, 1);
  });
});

describe('measured stage times', () => {
  test('replace the estimate', () => {
    const measured = [{ address: 'a', startLayer: 0, endLayer: 10, ms: 40 }];
    expect(firstOf([member('a', 2)], { measured }).stages).toEqual([{ address: 'a', ms: 40 }]);
  });

  test('of other layers tell the speed', () => {
    const measured = [{ address: 'a', startLayer: 0, endLayer: 5, ms: 10 }];
    expect(firstOf([member('a', 2)], { measured }).stages[0]?.ms).toBeCloseTo(20);
  });
});

describe('experts', () => {
  const mixture = {
    ...model,
    experts: { count: 8, usedPerToken: 2 },
    layers: model.layers.map((layer) => ({ ...layer, expertBytes: 80e6 })),
  };

  test('are read only where a token goes', () => {
    const [pipeline] = plan([member('a', 2)], mixture, options).pipelines;
    // A quarter of 80 MB, and the other 20 MB.
    expect(pipeline?.prediction.stages[0]?.ms).toBeCloseTo(10 * 0.4);
  });

  test('in plain RAM cost the speed of RAM, for the few that are read', () => {
    const host = member('a', 0.7, { hostMemoryBytes: 1e9, hostBandwidth: 10e9 });
    const [pipeline] = plan([host], mixture, { ...options, batch: 1, slots: 1 }).pipelines;
    const spilled = pipeline?.stages[0]?.plainRamBytes ?? 0;
    expect(spilled).toBeGreaterThan(300e6);
    const fromRam = (spilled * 0.25) / 10e9;
    const fromCard = (400e6 - spilled * 0.25) / 100e9;
    expect(pipeline?.prediction.stages[0]?.ms).toBeCloseTo((fromRam + fromCard) * 1000, 3);
  });
});
