import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { gpuWanted } from './gpuWanted.ts';
import type { Readings } from './manner.ts';
import { mannersSettingsSchema } from './mannersSettings.ts';
import { type PauseState, sharing, stepPause } from './stepPause.ts';
import { type Vote, voteOf } from './voteOf.ts';

const dwell = { pause: 15_000, share: 60_000 };
const settings = mannersSettingsSchema.parse({});
const readings: Readings = { onBattery: false, cpuCelsius: 50, gpuCelsius: null, gpuWanted: 0 };

/** The states after each of the votes, `stepMs` apart. */
function states(votes: readonly Vote[], stepMs = 5000): boolean[] {
  let state: PauseState = sharing;
  return votes.map((vote) => {
    state = stepPause(state, vote, stepMs, dwell);
    return state.paused;
  });
}

const votes = (vote: Vote, count: number): Vote[] => Array.from({ length: count }, () => vote);

describe('a pause', () => {
  test('comes after readings that speak for it as long as it takes, and goes likewise', () => {
    expect(states(votes('pause', 4))).toEqual([false, false, false, true]);
    const after = states([...votes('pause', 4), ...votes('share', 13)]).slice(4);
    expect(after.indexOf(false)).toBe(12);
  });

  test('is not begun by readings that break off, nor ended by them', () => {
    expect(states([...votes('pause', 3), 'neither', ...votes('pause', 3)])).not.toContain(true);
    const broken = [...votes('share', 12), 'neither' as const, ...votes('share', 12)];
    expect(states([...votes('pause', 4), ...broken]).slice(4)).not.toContain(false);
  });

  test('is not begun by a silent sensor, nor held by it', () => {
    expect(states(votes('unknown', 50))).not.toContain(true);
    expect(states([...votes('pause', 4), ...votes('unknown', 13)]).at(-1)).toBe(false);
  });

  test('never comes or goes faster than its dwell times, whatever the readings, and steady readings always win', () => {
    const vote = fc.constantFrom<Vote>('pause', 'share', 'neither', 'unknown');
    const steps = fc.array(fc.record({ vote, elapsedMs: fc.integer({ min: 0, max: 30_000 }) }), { maxLength: 200 });
    fc.assert(
      fc.property(steps, (list) => {
        let state = sharing;
        let now = 0;
        let changedAt = 0;
        for (const { vote: next, elapsedMs } of list) {
          now += elapsedMs;
          const before = state;
          state = stepPause(state, next, elapsedMs, dwell);
          if (state.paused === before.paused) continue;
          expect(now - changedAt).toBeGreaterThanOrEqual(state.paused ? dwell.pause : dwell.share);
          changedAt = now;
        }
        for (const wanted of ['pause', 'share'] as const) {
          for (let ms = 0; ms <= dwell.share; ms += 10_000) state = stepPause(state, wanted, 10_000, dwell);
          expect(state.paused).toBe(wanted === 'pause');
        }
      }),
    );
  });
});

describe('what readings speak for', () => {
  test.each<[string, Partial<Readings>, Vote]>([
    ['battery', { onBattery: true }, 'pause'],
    ['battery', { onBattery: false }, 'share'],
    ['battery', { onBattery: null }, 'unknown'],
    ['heat', { cpuCelsius: 97 }, 'pause'],
    ['heat', { cpuCelsius: 90 }, 'neither'],
    ['heat', { cpuCelsius: 87 }, 'share'],
    ['heat', { cpuCelsius: 60, gpuCelsius: 88 }, 'pause'],
    ['heat', { cpuCelsius: 60, gpuCelsius: 80 }, 'neither'],
    ['heat', { cpuCelsius: null, gpuCelsius: null }, 'unknown'],
    ['gpu', { gpuWanted: 0.3 }, 'pause'],
    ['gpu', { gpuWanted: 0.2 }, 'neither'],
    ['gpu', { gpuWanted: 0.1 }, 'share'],
    ['gpu', { gpuWanted: 'unclear' }, 'neither'],
    ['gpu', { gpuWanted: null }, 'unknown'],
  ])('%s: %o is %s', (manner, change, vote) => {
    expect(voteOf(manner as 'battery', { ...readings, ...change }, settings)).toBe(vote);
  });
});

describe('what other programs do on a card', () => {
  const card = { name: 'card', pciAddress: null, totalBytes: null, usedBytes: null, celsius: null };
  const own = { pids: new Set([7]), computed: true };

  test('is told apart from the own work by the driver where it can', () => {
    const programs = [
      { pid: 7, busy: 0.5 },
      { pid: 8, busy: 0.4 },
    ];
    expect(gpuWanted([{ ...card, busy: 0.9, programs }], own)).toBe(0.4);
  });

  test('is all that the card does while this member does nothing there, and unclear otherwise', () => {
    expect(gpuWanted([{ ...card, busy: 0.9, programs: null }], { ...own, computed: false })).toBe(0.9);
    expect(gpuWanted([{ ...card, busy: 0.9, programs: null }], own)).toBe('unclear');
    // A driver that lists programs without what they do.
    expect(gpuWanted([{ ...card, busy: 0.9, programs: [{ pid: 8, busy: 0 }] }], own)).toBe('unclear');
  });

  test('is the worst of several cards, and nothing where no driver tells', () => {
    const busy = (part: number) => ({ ...card, busy: part, programs: null });
    expect(gpuWanted([busy(0.1), busy(0.8)], { ...own, computed: false })).toBe(0.8);
    expect(gpuWanted([{ ...card, busy: null, programs: null }], own)).toBeNull();
    expect(gpuWanted([], own)).toBeNull();
  });
});
