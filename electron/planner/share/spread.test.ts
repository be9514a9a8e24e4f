import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { equalLayers } from '../equalLayers.ts';
import type { Member } from '../member.ts';
import { plan } from '../plan.ts';
import { alikeMembers, randomModel, randomOptions, randomScene } from '../testing/randomRoom.ts';

const runs = { numRuns: 2000 };

describe('proportional', () => {
  test('sums exactly and gives every member that it uses at least one layer', () => {
    fc.assert(
      fc.property(randomScene(), ({ members, model, options }) => {
        const { pipelines } = plan(members, model, { ...options, policy: 'proportional' });
        const [first] = pipelines;
        if (first === undefined) return;
        if (first.hops > 0) expect(pipelines).toHaveLength(1);
        const counts = first.stages.map(({ startLayer, endLayer }) => endLayer - startLayer);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(model.layers.length);
        expect(Math.min(...counts)).toBeGreaterThanOrEqual(1);
      }),
      runs,
    );
  });

  test('uses every member that has room wherever it stands', () => {
    const roomy = fc.record({
      sizes: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 12 }),
      layers: fc.integer({ min: 1, max: 60 }),
    });
    fc.assert(
      fc.property(roomy, ({ sizes, layers }) => {
        const members = sizes.map((size, index) => roomyMember(index, size));
        const { pipelines, rejected } = plan(members, equalLayers(layers, 1), {
          policy: 'proportional',
          force: 'cluster',
        });
        if (layers === 1) {
          expect(pipelines).toEqual([]);
          return;
        }
        expect(pipelines[0]?.stages).toHaveLength(Math.min(sizes.length, layers));
        const left = [...members]
          .sort((a, b) => b.memoryBytes - a.memoryBytes || (a.address < b.address ? -1 : 1))
          .slice(layers)
          .map(({ address }) => address);
        expect(rejected.map(({ address }) => address)).toEqual(left.sort());
        for (const { reason } of rejected) expect(reason.kind).toBe('TooManyMembers');
      }),
      runs,
    );
  });

  test('differs from the exact quota by less than one layer where nothing binds', () => {
    const roomy = fc.record({
      sizes: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 12 }),
      layers: fc.integer({ min: 2, max: 200 }),
    });
    fc.assert(
      fc.property(roomy, ({ sizes, layers }) => {
        const total = sizes.reduce((sum, size) => sum + size, 0);
        const quotas = sizes.map((size) => (layers * size) / total);
        fc.pre(Math.min(...quotas) >= 1);
        const members = sizes.map((size, index) => roomyMember(index, size));
        const { pipelines } = plan(members, equalLayers(layers, 1), { policy: 'proportional', force: 'cluster' });
        const counts = (pipelines[0]?.stages ?? []).map(({ startLayer, endLayer }) => endLayer - startLayer);
        expect(counts).toHaveLength(sizes.length);
        counts.forEach((count, index) => {
          expect(Math.abs(count - (quotas[index] ?? 0))).toBeLessThan(1);
        });
        // Largest remainder: who is rounded up lost no less in rounding down than who is not.
        const cut = quotas.map((quota) => quota - Math.floor(quota + 1e-9));
        const up = cut.filter((_, index) => (counts[index] ?? 0) > (quotas[index] ?? 0) + 1e-9);
        const down = cut.filter((_, index) => (counts[index] ?? 0) < (quotas[index] ?? 0) - 1e-9);
        expect(Math.min(1, ...up)).toBeGreaterThanOrEqual(Math.max(0, ...down) - 1e-9);
      }),
      runs,
    );
  });

  test('finds a place for every model that fewest hops finds one for', () => {
    const scene = alikeMembers({ least: 1, most: 6 }).chain((members) =>
      fc.record({
        members: fc.constant(members),
        model: randomModel(),
        options: randomOptions(members, { plain: true }),
      }),
    );
    fc.assert(
      fc.property(scene, ({ members, model, options }) => {
        const minimal = plan(members, model, options);
        const shared = plan(members, model, { ...options, policy: 'proportional' });
        expect(shared.fit).toBe(minimal.fit);
      }),
      runs,
    );
  });
});

/** So much memory that room never binds. */
function roomyMember(index: number, size: number): Member {
  return { address: `m${100 + index}`, backend: 'Cuda', memoryBytes: size * 1e9, build: 'c1' };
}
