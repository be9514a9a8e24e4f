import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { equalLayers } from '../equalLayers.ts';
import type { Member } from '../member.ts';
import { plan } from '../plan.ts';
import { alikeMembers, randomModel, randomOptions } from '../testing/randomRoom.ts';

const runs = { numRuns: 1000 };
const almost = 1 - 1e-9;

const card = (address: string, gb: number): Member => ({
  address,
  backend: 'Cuda',
  memoryBytes: (gb + 0.01) * 1e9,
  bandwidth: 300e9,
  build: 'c1',
});

describe('of equally soon plans the one that serves most at once', () => {
  test('is balanced over machines of equal speed', () => {
    const model = { ...equalLayers(30, 1e9), hiddenSize: 1 };
    const options = { headroom: 0, batch: 1, contextLength: 1, slots: 4, coordinator: null };
    const old = [card('m0', 13), card('m1', 18)];
    const countsOf = (members: Member[]) =>
      plan(members, model, options).pipelines[0]?.stages.map(({ startLayer, endLayer }) => endLayer - startLayer);
    const manyOf = (members: Member[]) => plan(members, model, options).prediction?.tokensPerSecondMany;
    expect(countsOf(old)?.sort()).toEqual([13, 17]);
    expect(countsOf([...old, card('a', 27)])).toEqual([15, 15]);
    // Two micro-batches of two sequences; a stage of 17 layers of 1 GB at 300 GB/s takes 170/3 ms.
    expect(manyOf(old)).toBeCloseTo(4000 / (2 * (170 / 3)), 3);
    // Two stages of 50 ms, and the hop between them, a quarter of a millisecond.
    expect(manyOf([...old, card('a', 27)])).toBeCloseTo(4000 / (2 * 50 + 0.25), 3);
  });

  const growing = (speeds: readonly number[]) =>
    alikeMembers({ least: 2, most: 6 }).chain((members) =>
      fc.record({
        members: fc.constant(members),
        drawn: fc.array(fc.constantFrom(...speeds), { minLength: 6, maxLength: 6 }),
        model: randomModel({ most: 8 }),
        options: randomOptions(members, { plain: true }),
        led: fc.boolean(),
      }),
    );

  test('a newcomer of any speed slows no request at equal hops, with the leader given or none', () => {
    fc.assert(
      fc.property(growing([1e5, 3e5, 7e5]), ({ members, drawn, model, options: costs, led }) => {
        const [newcomer, ...old] = members.map((member, index) => ({ ...member, bandwidth: drawn[index] ?? 1e5 }));
        if (newcomer === undefined) return;
        const options = { ...costs, coordinator: led ? (old[0]?.address ?? null) : null };
        const before = plan(old, model, options);
        const after = plan([...old, newcomer], model, options);
        if (before.prediction === null) return;
        expect(after.hops).toBeLessThanOrEqual(before.hops);
        if (after.hops < before.hops) return;
        expect(after.prediction?.tokensPerSecond).toBeGreaterThanOrEqual(before.prediction.tokensPerSecond * almost);
      }),
      runs,
    );
  });

  test('a newcomer as fast as the others costs the first pipeline nothing where one request gains nothing', () => {
    fc.assert(
      fc.property(growing([2e5]), ({ members, model, options: costs, led }) => {
        const [newcomer, ...old] = members;
        if (newcomer === undefined) return;
        const options = { ...costs, coordinator: led ? (old[0]?.address ?? null) : null };
        const before = plan(old, model, options);
        const after = plan([...old, newcomer], model, options);
        const [first, now] = [before.pipelines[0]?.prediction, after.pipelines[0]?.prediction];
        if (first === undefined || now === undefined || after.hops < before.hops) return;
        if (now.tokensPerSecond > first.tokensPerSecond * (1 + 1e-9)) return;
        expect(now.tokensPerSecondMany).toBeGreaterThanOrEqual(first.tokensPerSecondMany * almost);
      }),
      runs,
    );
  });
});
