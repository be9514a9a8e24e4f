import { expect, test } from 'vitest';
import { equalLayers } from '../../planner/equalLayers.ts';
import { type Candidate, type PlaceOptions, placePipelines } from './placePipelines.ts';

const MB = 2 ** 20;
/** 400 MB of weights. */
const model = equalLayers(4, 100 * MB);
const options: PlaceOptions = {
  contextLength: 16,
  slots: 1,
  batch: 16,
  kvType: 'f16',
  exact: false,
  replicas: 1,
  ordered: false,
  coordinator: 'ada',
  build: 'b',
};

function member(name: string, memoryBytes: number, changes: Partial<Candidate> = {}): Candidate {
  const facts = { backend: 'Cpu' as const, memoryBytes };
  const link = name === 'ada' ? null : { rttMs: 1, bytesPerSecond: 100e6 };
  return {
    id: name,
    name,
    address: `${name}:1`,
    build: 'b',
    facts,
    stale: false,
    link,
    ways: [],
    takenBytes: 0,
    stageExtraBytes: 0,
    stageSpeed: 1,
    mostBytes: null,
    ...changes,
  };
}

const holders = (candidates: Candidate[], changes: Partial<PlaceOptions> = {}): string[][] =>
  placePipelines(candidates, model, { ...options, ...changes }).pipelines.map(({ stages }) =>
    stages.map(({ name, startLayer, endLayer }) => `${name} ${startLayer}-${endLayer}`),
  );

test('what other pipelines have taken is not offered again', () => {
  const room = (takenBytes: number) => [member('ada', 300 * MB), member('bob', 900 * MB, { takenBytes })];
  expect(holders(room(0))).toEqual([['bob 0-4']]);
  expect(holders(room(500 * MB))[0]).toHaveLength(2);
  expect(() => holders(room(800 * MB))).toThrow(/does not fit/);
});

test('where what others have taken is why a member is too small, that is said', () => {
  const hint = /Other models take 838\.9 MB of what bob shares; stop one to have that back\.$/;
  const bob = member('bob', 900 * MB, { takenBytes: 800 * MB });
  expect(() => holders([member('ada', 300 * MB), bob])).toThrow(hint);
  const { explain } = placePipelines([member('ada', 900 * MB), bob], model, options);
  expect(explain.at(-1)).toMatch(hint);
  const enough = placePipelines([member('ada', 900 * MB), member('bob', 900 * MB, { takenBytes: MB })], model, options);
  expect(enough.explain.join(' ')).not.toMatch(/Other models/);
});

test('of a card its memory is taken first, then the plain RAM beside it', () => {
  const card = (takenBytes: number) =>
    member('ada', 0, {
      facts: { backend: 'Cuda', memoryBytes: 600 * MB, hostMemoryBytes: 600 * MB },
      takenBytes,
    });
  expect(holders([card(0)])).toEqual([['ada 0-4']]);
  expect(holders([card(700 * MB)])).toEqual([['ada 0-4']]);
  expect(() => holders([card(1100 * MB)])).toThrow(/does not fit/);
});

test('members that are named are used in their order', () => {
  const names = ['cyd', 'ada', 'bob'];
  for (const order of [names, [...names].reverse(), ['bob', 'cyd', 'ada']]) {
    const named = (bytes: number) => order.map((name) => member(name, bytes));
    const used = (bytes: number) =>
      holders(named(bytes), { ordered: true }).map((stages) => stages.map((stage) => stage.slice(0, 3)));
    // Two of them suffice, or three.
    const [two = []] = used(300 * MB);
    expect(two).toHaveLength(2);
    expect(two).toEqual(order.filter((name) => two.includes(name)));
    const three = [member(order[0] ?? '', 300 * MB), ...named(200 * MB).slice(1)];
    expect(holders(three, { ordered: true })[0]?.map((stage) => stage.slice(0, 3))).toEqual(order);
  }
});

test('who is paused, of another build or not heard of holds nothing, and the reason is said', () => {
  const room = [
    member('ada', 100 * MB),
    member('bob', 900 * MB, { facts: { backend: 'Cpu', memoryBytes: 900 * MB, paused: true } }),
    member('cyd', 900 * MB, { build: 'other' }),
    member('dan', 900 * MB, { stale: true }),
  ];
  expect(() => holders(room)).toThrow(/does not fit/);
  const { pipelines, explain } = placePipelines([...room, member('eve', 900 * MB)], model, options);
  expect(pipelines.map(({ stages }) => stages.map(({ member: id }) => id))).toEqual([['eve']]);
  for (const name of ['bob', 'cyd', 'dan']) expect(explain.join('\n')).toContain(name);
});

test('as many pipelines as were asked for, each of members of its own', () => {
  const room = ['ada', 'bob', 'cyd'].map((name) => member(name, 900 * MB));
  expect(holders(room)).toHaveLength(1);
  const two = holders(room, { replicas: 2 });
  expect(two).toHaveLength(2);
  expect(new Set(two.flat().map((stage) => stage.slice(0, 3))).size).toBe(2);
  const many = placePipelines(room, model, { ...options, replicas: 5 });
  expect(many.pipelines).toHaveLength(3);
  expect(many.explain.join('\n')).toMatch(/5 pipelines asked for; the members suffice for 3/);
});

test('what others have measured of each other counts: a slow way between two of them is gone round', () => {
  const slow = { rttMs: 80, bytesPerSecond: 1e6 };
  const quick = { rttMs: 1, bytesPerSecond: 100e6 };
  const room = (bobToCyd: typeof slow, bobToDan: typeof slow) => [
    member('ada', 1 * MB),
    member('bob', 300 * MB),
    member('cyd', 300 * MB, { ways: [{ member: 'bob', ...bobToCyd }] }),
    member('dan', 300 * MB, {
      ways: [
        { member: 'bob', ...bobToDan },
        { member: 'cyd', ...slow },
      ],
    }),
  ];
  const names = (candidates: Candidate[]) =>
    holders(candidates).map((stages) => stages.map((stage) => stage.slice(0, 3)).sort());
  expect(names(room(slow, quick))).toEqual([['bob', 'dan']]);
  expect(names(room(quick, slow))).toEqual([['bob', 'cyd']]);
});

test('what was learnt of a speed is predicted, and what the profile alone says goes along', () => {
  const placed = (stageSpeed: number, facts: Partial<Candidate['facts']> = { bandwidth: 10e9 }) => {
    const own = member('ada', 900 * MB);
    const [pipeline] = placePipelines(
      [{ ...own, facts: { ...own.facts, ...facts }, stageSpeed }],
      model,
      options,
    ).pipelines;
    return { predictedMs: pipeline?.predicted.stageMs[0] ?? 0, stage: pipeline?.stages[0] };
  };
  const plain = placed(1);
  expect(plain.stage).toMatchObject({ profileBandwidth: 10e9, profileMs: plain.predictedMs });
  for (const speed of [0.25, 3]) {
    const { predictedMs, stage } = placed(speed);
    expect(predictedMs).toBeCloseTo(plain.predictedMs / speed, 9);
    expect(stage?.profileMs).toBeCloseTo(plain.predictedMs, 9);
    expect({ ...stage, profileMs: 0 }).toEqual({ ...plain.stage, profileMs: 0 });
  }
  const unknown = placed(3, {});
  expect(unknown).toEqual(placed(1, {}));
  expect(unknown.stage).not.toHaveProperty('profileMs');
});
