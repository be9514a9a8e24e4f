import fc from 'fast-check';
import { expect, test } from 'vitest';
import { endChunk, freshPace, type PaceSettings, reserveChunk } from './slicePace.ts';

interface Chunk {
  bytes: number;
  /** How long it keeps the machine busy, ms. */
  takes: number;
  /** Between the end of the one before and the wish for this one, ms. */
  pause: number;
}

/** Sends the chunks one by one on a clock of its own. */
function run(chunks: readonly Chunk[], settings: PaceSettings, loaded: boolean) {
  let state = freshPace;
  let now = 1000;
  let busy = 0;
  const starts: number[] = [];
  for (const { bytes, takes, pause } of chunks) {
    now += pause;
    const reserved = reserveChunk(state, { now, bytes, loaded }, settings);
    expect(reserved.startAt).toBeGreaterThanOrEqual(now);
    starts.push(reserved.startAt);
    now = reserved.startAt + takes;
    busy += takes;
    state = loaded ? endChunk(reserved.state, { startedAt: reserved.startAt, now }, settings) : reserved.state;
  }
  return { starts, busy, elapsed: now - 1000 };
}

const chunks = fc.array(
  fc.record({
    bytes: fc.integer({ min: 0, max: 262_144 }),
    takes: fc.double({ min: 0, max: 40, noNaN: true }),
    pause: fc.double({ min: 0, max: 20, noNaN: true }),
  }),
  { minLength: 1, maxLength: 60 },
);

test('beside a computing stage serving takes no more of the time than its share, but for the last chunk', () => {
  fc.assert(
    fc.property(chunks, fc.double({ min: 0.05, max: 1, noNaN: true }), (all, loadedShare) => {
      const { busy, elapsed } = run(all, { bytesPerSecond: null, loadedShare }, true);
      const last = all.at(-1)?.takes ?? 0;
      expect(busy - last).toBeLessThanOrEqual(elapsed * loadedShare + 1e-6);
    }),
  );
});

test('no more bytes leave than the limit lets, but for the last chunk', () => {
  fc.assert(
    fc.property(chunks, fc.integer({ min: 1000, max: 100_000_000 }), (all, bytesPerSecond) => {
      const { starts } = run(all, { bytesPerSecond, loadedShare: 1 }, false);
      let before = 0;
      for (const [index, { bytes }] of all.entries()) {
        const elapsed = (starts[index] ?? 0) - (starts[0] ?? 0);
        expect(before).toBeLessThanOrEqual((elapsed / 1000) * bytesPerSecond + 1e-3);
        before += bytes;
      }
    }),
  );
});

test('without a limit and without a stage nothing waits', () => {
  fc.assert(
    fc.property(chunks, (all) => {
      const { busy, elapsed } = run(all, { bytesPerSecond: null, loadedShare: 0.1 }, false);
      expect(elapsed).toBeCloseTo(busy + all.reduce((sum, { pause }) => sum + pause, 0), 6);
    }),
  );
});

test('a chunk that a slow receiver holds up earns a bounded rest', () => {
  const settings = { bytesPerSecond: null, loadedShare: 0.1 };
  const { state } = reserveChunk(freshPace, { now: 0, bytes: 1, loaded: true }, settings);
  expect(endChunk(state, { startedAt: 0, now: 60_000 }, settings).restAt).toBe(60_000 + 450);
});
