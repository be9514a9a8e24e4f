import { expect, test } from 'vitest';
import { type Run, RunEmbed } from '../wire/generated/roomful/v1/ring.ts';
import { dropStaleRuns } from './dropStaleRuns.ts';

const run = (slot: number, generation: number, tokens: number): Run => ({
  slot,
  generation,
  start: 0,
  tokens: new Array<number>(tokens).fill(0),
  sampling: undefined,
  sample: false,
  drafts: 0,
  embed: RunEmbed.RUN_EMBED_NONE,
  copyFrom: undefined,
});

test('a frame of current runs is taken as it is, without a copy', () => {
  const activations = new Uint8Array(6);
  const runs = [run(0, 1, 1), run(3, 2, 2)];
  const current = dropStaleRuns(runs, activations, 2, new Map([[3, 2]]));
  expect(current.runs).toEqual(runs);
  expect(current.activations).toBe(activations);
  expect([...current.generations]).toEqual([
    [0, 1],
    [3, 2],
  ]);
});

test('a run of an older generation goes with its rows', () => {
  const runs = [run(0, 4, 1), run(1, 1, 2), run(2, 7, 1)];
  const activations = Uint8Array.from([1, 1, 2, 2, 3, 3, 4, 4]);
  const current = dropStaleRuns(runs, activations, 2, new Map([[1, 2]]));
  expect(current.runs.map(({ slot }) => slot)).toEqual([0, 2]);
  expect([...current.activations]).toEqual([1, 1, 4, 4]);
  expect(current.dropped).toBe(1);
});

test('a newer generation in the same frame makes the older one stale', () => {
  const current = dropStaleRuns([run(0, 2, 1), run(0, 1, 1)], Uint8Array.from([5, 6]), 1, new Map());
  expect(current.runs.map(({ generation }) => generation)).toEqual([2]);
  expect([...current.activations]).toEqual([5]);
});

test('runs without activations are dropped too', () => {
  const current = dropStaleRuns([run(0, 1, 3)], new Uint8Array(0), 0, new Map([[0, 2]]));
  expect(current).toMatchObject({ runs: [], dropped: 1 });
  expect(current.activations).toHaveLength(0);
});
