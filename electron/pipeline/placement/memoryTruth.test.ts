import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { equalLayers } from '../../planner/equalLayers.ts';
import { memoryToShare } from '../../planner/stageBytes.ts';
import { extraBytesOf, learnMemory, type MemoryTruth, ROUNDED_BYTES } from './memoryTruth.ts';
import { type Candidate, placePipelines } from './placePipelines.ts';

const key = { model: 'm', member: 'ada', backend: 'Cuda' } as const;
const learn = (known: readonly MemoryTruth[], plannedBytes: number, takenBytes: number): MemoryTruth[] =>
  learnMemory(known, { ...key, plannedBytes, takenBytes });

describe('what stages have taken', () => {
  it('counts at once where it was more, by half where it was less, and only for the same model, member and backend', () => {
    const once = learn([], 1e9, 1.1e9);
    expect(extraBytesOf(once, key)).toBe(100e6);
    expect(extraBytesOf(learn(once, 1e9, 1.3e9), key)).toBe(300e6);
    expect(extraBytesOf(learn(once, 1e9, 0.9e9), key)).toBe(0);
    expect(extraBytesOf(learn([], 1e9, 1e9 + ROUNDED_BYTES), key)).toBe(0);
    expect(extraBytesOf(learn([], 1e9, 0.9e9), key)).toBe(-100e6);
    expect(extraBytesOf(once, { ...key, backend: 'Vulkan' })).toBe(0);
    expect(extraBytesOf(once, { ...key, member: 'bob' })).toBe(0);
    expect(extraBytesOf(once, { ...key, model: 'n' })).toBe(0);
  });

  it('is never less than the last load took, and comes down to what loads take again and again', () => {
    const loads = fc.array(fc.tuple(fc.nat(1e9), fc.nat(1e9)), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(loads, (all) => {
        let known: MemoryTruth[] = [];
        for (const [planned, taken] of all) {
          known = learn(known, planned, taken);
          expect(extraBytesOf(known, key) + ROUNDED_BYTES).toBeGreaterThanOrEqual(taken - planned);
        }
        const [planned, taken] = all.at(-1) ?? [0, 0];
        for (let again = 0; again < 64; again += 1) known = learn(known, planned, taken);
        expect(extraBytesOf(known, key) - (taken - planned)).toBeLessThanOrEqual(1);
        expect(known).toHaveLength(1);
      }),
    );
  });
});

describe('a plan by what is known', () => {
  const shape = equalLayers(8, 100e6);
  const sizes = { contextLength: 2048, slots: 1, batch: 64, kvType: 'f16' as const };
  const whole = memoryToShare(shape, { start: 0, end: 8 }, sizes, { leads: false, deviceClass: 'gpu' });
  const candidate = (name: string, changes: Partial<Candidate> = {}): Candidate => ({
    id: name,
    name,
    address: `${name}:1`,
    build: 'b',
    facts: { backend: 'Cuda', memoryBytes: Math.ceil(whole * 1.01) },
    stale: false,
    link: null,
    ways: [],
    takenBytes: 0,
    stageExtraBytes: 0,
    stageSpeed: 1,
    mostBytes: null,
    ...changes,
  });
  const members = (candidates: Candidate[]): string[] => {
    const options = {
      ...sizes,
      exact: false,
      replicas: 1,
      ordered: false,
      draft: null,
      coordinator: 'nobody',
      build: 'b',
    };
    const { pipelines } = placePipelines(candidates, shape, options);
    return pipelines[0]?.stages.map(({ name }) => name) ?? [];
  };

  it('puts a model on one member as long as stages there take what was planned', () => {
    expect(members([candidate('ada'), candidate('bob')])).toEqual(['ada']);
    expect(members([candidate('ada', { stageExtraBytes: 50e6 }), candidate('bob')])).toEqual(['bob']);
    const both = [candidate('ada', { stageExtraBytes: 50e6 }), candidate('bob', { stageExtraBytes: 50e6 })];
    expect(members(both)).toHaveLength(2);
  });

  it('takes an offer for what was found there', () => {
    expect(members([candidate('ada', { mostBytes: whole / 2 }), candidate('bob')])).toEqual(['bob']);
    const both = [candidate('ada', { mostBytes: whole * 0.8 }), candidate('bob', { mostBytes: whole * 0.8 })];
    expect(members(both)).toHaveLength(2);
  });
});
