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
