import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { learnSpeed, type Profiled, type SpeedObservation, type SpeedTruth, speedsOf } from './speedTruth.ts';

const seen = (changes: Partial<SpeedObservation> = {}): SpeedObservation => ({
  ...{ model: 'm', member: 'ada', backend: 'Cuda', bandwidth: 400e9, profileMs: 8, measuredMs: 10 },
  ...changes,
});
const profiled = (member: string, changes: Partial<Profiled> = {}): Profiled => ({
  ...{ member, backend: 'Cuda', bandwidth: 400e9 },
  ...changes,
});
const learnt = (...all: Partial<SpeedObservation>[]): readonly SpeedTruth[] =>
  all.reduce<readonly SpeedTruth[]>((known, each) => learnSpeed(known, seen(each)), []);
const speed = (known: readonly SpeedTruth[], of: Profiled = profiled('ada'), model = 'm'): number =>
  speedsOf(known, model, [of]).get(of.member) ?? 0;

describe('what stages were measured to take', () => {
  it('makes the planner expect just that, for the same model alone', () => {
    expect(speed([])).toBe(1);
    expect(speed(learnt({}))).toBe(0.8);
    expect(speed(learnt({}, { measuredMs: 5 }))).toBe(1.6);
    expect(speed(learnt({}), profiled('ada'), 'n')).toBe(1);
  });

  it('makes it expect less the longer it took', () => {
    const ms = fc.double({ min: 0.5, max: 150, noNaN: true });
    fc.assert(
      fc.property(ms, ms, (a, b) => {
        const [quick, slow] = [Math.min(a, b), Math.max(a, b)].map((measuredMs) => speed(learnt({ measuredMs })));
        expect(quick).toBeGreaterThanOrEqual(slow ?? 0);
        expect(8 / (quick ?? 0)).toBeCloseTo(Math.min(a, b), 9);
      }),
    );
  });

  it('is nothing where it is absurd, or where nothing is new', () => {
    const known = learnt({});
    for (const measuredMs of [0, 8 / 21, 8 * 21, Number.NaN, -3, Number.POSITIVE_INFINITY, 10]) {
      expect(learnSpeed(known, seen({ measuredMs }))).toBe(known);
    }
    expect(learnSpeed(known, seen({ bandwidth: 0 }))).toBe(known);
  });

  it('says nothing of a member without a profile, whatever others do', () => {
    expect(speed(learnt({}), profiled('ada', { bandwidth: undefined }))).toBe(1);
    expect(speed(learnt({}), profiled('bob', { bandwidth: undefined }))).toBe(1);
  });

  it('is forgotten with the profile beside which it was learnt, and told of nobody else then', () => {
    for (const bandwidth of [439e9, 400e9, 361e9]) expect(speed(learnt({}), profiled('ada', { bandwidth }))).toBe(0.8);
    for (const other of [{ bandwidth: 445e9 }, { bandwidth: 355e9 }, { backend: 'Vulkan' as const }]) {
      const room = [profiled('ada', other), profiled('bob')];
      expect([...speedsOf(learnt({}), 'm', room).values()]).toEqual([1, 1]);
    }
  });

  it('is expected of others too: the mean, of their own backend where there is one', () => {
    const known = learnt({ measuredMs: 4 }, { member: 'bob', measuredMs: 16 }, { member: 'cyd', backend: 'Cpu' });
    expect(speed(known, profiled('dan'))).toBeCloseTo(1, 12);
    expect(speed(known, profiled('dan', { backend: 'Cpu' }))).toBeCloseTo(0.8, 12);
    expect(speed(known, profiled('dan', { backend: 'Metal' }))).toBeCloseTo(0.8 ** (1 / 3), 12);
  });

  it('says the same in whatever order it was learnt and is asked, and what is kept is bounded', () => {
    const observation = fc.record({
      member: fc.constantFrom('ada', 'bob', 'cyd', 'dan'),
      backend: fc.constantFrom('Cuda' as const, 'Cpu' as const),
      measuredMs: fc.double({ min: 0.5, max: 150, noNaN: true }),
    });
    const selector = ({ member, backend }: Pick<SpeedObservation, 'member' | 'backend'>) => `${member} ${backend}`;
    const room = ['ada', 'bob', 'cyd', 'dan', 'eve'].map((member) => profiled(member));
    fc.assert(
      fc.property(fc.uniqueArray(observation, { selector }), (all) => {
        const [there, back] = [learnt(...all), learnt(...all.toReversed())];
        expect(speedsOf(back, 'm', room.toReversed())).toEqual(speedsOf(there, 'm', room));
      }),
    );
    const many = learnt(...Array.from({ length: 400 }, (_, at) => ({ member: `member-${at}` })));
    expect(many).toHaveLength(256);
    expect(many.at(-1)?.member).toBe('member-399');
  });
});
