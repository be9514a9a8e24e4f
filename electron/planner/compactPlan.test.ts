import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { compactPlan } from './compactPlan.ts';

interface Case {
  name: string;
  why: string;
  params: unknown;
  expect: Record<string, unknown> & { pipelines?: number };
}

const { cases }: { cases: Case[] } = JSON.parse(
  readFileSync(new URL('./scenarios/compact.json', import.meta.url), 'utf8'),
);

const params = (gigabytes: readonly number[], more: object = {}) => ({
  model: { layers: 20, hidden_dim: 8, total_vram_gb: 40 },
  members: gigabytes.map((size, index) => ({
    address: `m${index}`,
    vram_gb: size,
    backend: 'Cuda',
    llama_commit: index === 0 ? 'c0' : 'c1',
  })),
  ...more,
});
const addresses = (plan: ReturnType<typeof compactPlan>) => plan.stages.map(({ address }) => address);

describe('choices of the compact form', () => {
  test('force_single lacks what the largest cannot hold in whole layers', () => {
    // 11 layers of 2 GB in 23.9 GB; together they would hold all of it.
    const answer = compactPlan(params([10, 23.9, 20], { force_single: true, reference_commit: 'c1' }));
    expect(answer).toMatchObject({ fit: 'DoesNotFit', stages: [], forms_cluster: false });
    expect(answer.missing_gb).toBeCloseTo(40 - 22, 9);
    expect(answer.explain).toContain('It does not fit: room for 18.0 GB is missing.');
    expect(compactPlan(params([10, 40, 20], { force_single: true, reference_commit: 'c1' }))).toMatchObject({
      fit: 'RunLocal',
      missing_gb: 0,
    });
  });

  test('a head sets the build, and starts the chain where links are known', () => {
    expect(addresses(compactPlan(params([30, 30, 30, 30], { head: 'm2' })))).toEqual(['m1', 'm2', 'm3']);
    // Without one the lowest address does, which runs c0 alone.
    expect(compactPlan(params([30, 30, 30, 30]))).toMatchObject({ fit: 'DoesNotFit' });
    const links = [
      { from: 'm2', to: 'm3', rttMs: 1 },
      { from: 'm3', to: 'm1', rttMs: 1 },
      { from: 'm2', to: 'm1', rttMs: 5 },
    ];
    expect(addresses(compactPlan(params([30, 30, 30, 30], { head: 'm2', links })))).toEqual(['m2', 'm3', 'm1']);
  });

  test.each(['proportional', 'hop-minimal'])('cluster_members restrict and order the members, %s', (policy) => {
    const answer = compactPlan(params([30, 30, 30, 30], { policy, head: 'm1', cluster_members: ['m3', 'm1'] }));
    expect(addresses(answer)).toEqual(['m3', 'm1']);
    expect(answer.rejected).toEqual([]);
  });

  test('excluded members are rejected as such', () => {
    const answer = compactPlan(params([30, 30, 30, 30], { head: 'm1', excluded: ['m2'] }));
    expect(addresses(answer)).toEqual(['m1', 'm3']);
    expect(answer.rejected).toContainEqual({ address: 'm2', reason: { kind: 'Excluded' } });
  });

  test('replicas, or max_replicas, bound the pipelines', () => {
    const four = [1, 40, 40, 40, 40];
    const countOf = (more: object) => compactPlan(params(four, { head: 'm1', ...more })).pipelines.length;
    expect(countOf({ policy: 'hop-minimal' })).toBe(4);
    expect(countOf({ policy: 'hop-minimal', max_replicas: 3 })).toBe(3);
    expect(countOf({ policy: 'hop-minimal', replicas: 2 })).toBe(2);
    expect(countOf({})).toBe(1);
  });
});

describe('the compact cases', () => {
  test.each(cases)('$name: $why', ({ params, expect: { pipelines, missing_gb: missing, ...expected } }) => {
    const before = JSON.stringify(params);
    const result = compactPlan(params);
    expect(result).toMatchObject(expected);
    if (pipelines !== undefined) expect(result.pipelines).toHaveLength(pipelines);
    if (typeof missing === 'number') expect(result.missing_gb).toBeCloseTo(missing, 9);
    expect(JSON.stringify(params)).toBe(before);
  });
});
