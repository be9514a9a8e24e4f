import { expect, test } from 'vitest';
import { equalLayers } from '../../planner/equalLayers.ts';
import { driverOf, placeDrafted } from './placeDrafted.ts';
import type { Candidate } from './placePipelines.ts';

const MB = 2 ** 20;
/** 400 MB of weights. */
const model = equalLayers(4, 100 * MB);
const DRAFT = 200 * MB;
const options = {
  ...{ contextLength: 16, slots: 1, batch: 16, kvType: 'f16' as const, exact: false, replicas: 1, ordered: false },
  ...{ coordinator: 'ada', build: 'b' },
};

const member = (name: string, megabytes: number): Candidate => ({
  ...{
    id: name,
    name,
    address: `${name}:1`,
    build: 'b',
    stale: false,
    ways: [],
    takenBytes: 0,
    stageExtraBytes: 0,
    stageSpeed: 1,
    mostBytes: null,
  },
  facts: { backend: 'Cpu', memoryBytes: megabytes * MB },
  link: name === 'ada' ? null : { rttMs: 1, bytesPerSecond: 100e6 },
});
const holders = (room: Candidate[], replicas = 1): string[] =>
  placeDrafted(room, model, DRAFT, { ...options, replicas }).pipelines.map(({ stages }) =>
    stages.map(({ name }) => name).join(' '),
  );

test('who holds the model alone has the draft too, and not the one that leads', () => {
  expect(driverOf([{ member: 'bob' }], 'ada')).toBe('bob');
  expect(driverOf([{ member: 'bob' }, { member: 'cyd' }], 'ada')).toBe('ada');
  // Without the draft bob would do alone.
  expect(holders([member('ada', 900), member('bob', 900)])[0]).toMatch(/^\w+$/);
  expect(() => holders([member('ada', 50), member('bob', 600)])).toThrow(/no room for the draft model|does not fit/);
  expect(holders([member('ada', 50), member('bob', 900)])).toEqual(['bob']);
});

test('every pipeline that one member drives has a draft of its own there', () => {
  const others = ['bob', 'cyd', 'dan', 'eve'].map((name) => member(name, 350));
  // None holds the model alone, so ada drives both.
  expect(holders([member('ada', 450), ...others], 2)).toHaveLength(2);
  expect(() => holders([member('ada', 350), ...others], 2)).toThrow(/ada has no room for the draft model/);
});
