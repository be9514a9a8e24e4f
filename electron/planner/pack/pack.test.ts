import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { settingsOf } from '../costs/settings.ts';
import { equalLayers } from '../equalLayers.ts';
import { deviceClassOf, type Member } from '../member.ts';
import { type Plan, plan, planWith } from '../plan.ts';
import { fewestByBruteForce } from '../testing/bruteForce.ts';
import { alikeMembers, randomLinks, randomMembers, randomModel, randomOptions, unit } from '../testing/randomRoom.ts';

const runs = { numRuns: 1500 };

describe('hop-minimal', () => {
  /** Members that the gates let in whatever the model: the brute force knows no gates. */
  const room = randomMembers({ most: 7 })
    .map((members) => members.map((member) => bare(member)))
    .chain((members) =>
      fc.record({
        members: fc.constant(members),
        model: randomModel({ most: 6 }),
        options: randomOptions(members, { plain: true }),
        links: fc.option(randomLinks(members), { nil: undefined }),
        force: fc.option(fc.constant('cluster' as const), { nil: undefined }),
        coordinator: fc.option(fc.constantFrom(null, ...members.map(({ address }) => address)), { nil: undefined }),
      }),
    );

  test('has the fewest hops that brute force finds, and does not fit only where brute force finds nothing', () => {
    fc.assert(
      fc.property(room, ({ members, model, options: costs, links, force, coordinator }) => {
        const options = {
          ...costs,
          coordinator,
          ...(links === undefined ? {} : { links }),
          ...(force === undefined ? {} : { force }),
        };
        const result = plan(members, model, options);
        const least = force === 'cluster' ? 2 : 1;
        const [plain, accelerated] = partition(members, (member) => deviceClassOf(member) === 'cpu');
        const fewestOf = (holders: Member[], leaders: (string | null)[]) =>
          leaders.reduce<number | null>((best, leader) => {
            const found = fewestByBruteForce(holders, model, options, leader, { least, room: members });
            return found !== null && (best === null || found < best) ? found : best;
          }, null);
        const names = (list: Member[]) =>
          coordinator === undefined ? list.map(({ address }) => address) : [coordinator];
        const fewest =
          fewestOf(accelerated, names(accelerated)) ??
          fewestOf(accelerated, names(plain)) ??
          fewestOf(members, names(accelerated)) ??
          fewestOf(members, names(plain));
        expect(result.pipelines[0]?.stages.length ?? null).toBe(fewest);
      }),
      runs,
    );
  });

  test('adds no hop, takes no pipeline and slows no request when a machine of the same class joins', () => {
    const growing = alikeMembers({ least: 2 }).chain((members) =>
      fc.record({
        members: fc.constant(members),
        model: randomModel({ most: 9 }),
        options: randomOptions(members, { plain: true }),
        led: fc.boolean(),
      }),
    );
    fc.assert(
      fc.property(growing, ({ members, model, options: plain, led }) => {
        const [newcomer, ...old] = members;
        if (newcomer === undefined) return;
        const options = led ? { ...plain, coordinator: old[0]?.address ?? null } : plain;
        const before = plan(old, model, options);
        const after = plan(members, model, options);
        if (before.fit === 'DoesNotFit') return;
        expect(after.fit).not.toBe('DoesNotFit');
        expect(after.hops).toBeLessThanOrEqual(before.hops);
        expect(after.pipelines.length).toBeGreaterThanOrEqual(before.pipelines.length);
        expect(after.prediction?.tokensPerSecond).toBeGreaterThanOrEqual(
          (before.prediction?.tokensPerSecond ?? 0) * (1 - 1e-9),
        );
      }),
      runs,
    );
  });

  test('never lowers the throughput of a room of like machines when another one joins', () => {
    const like = fc.record({
      machine: alikeMembers({ least: 1, most: 1 }),
      count: fc.integer({ min: 1, max: 12 }),
      model: randomModel({ most: 12 }),
      options: randomOptions([], { plain: true }),
    });
    fc.assert(
      fc.property(like, ({ machine: [machine], count, model, options }) => {
        if (machine === undefined) return;
        const members = Array.from({ length: count + 1 }, (_, index) => ({ ...machine, address: `m${10 + index}` }));
        const before = plan(members.slice(0, count), model, options);
        const after = plan(members, model, options);
        if (before.fit === 'DoesNotFit') return;
        expect(after.hops).toBeLessThanOrEqual(before.hops);
        expect(after.prediction?.tokensPerSecondMany).toBeGreaterThanOrEqual(
          (before.prediction?.tokensPerSecondMany ?? 0) * (1 - 1e-9),
        );
      }),
      runs,
    );
  });

  test('a CPU member never displaces GPUs that hold the model', () => {
    const mixed = randomMembers({ least: 1, most: 6 }).chain((members) =>
      fc.record({
        members: fc.constant(members.filter((member) => deviceClassOf(member) !== 'cpu')),
        model: randomModel(),
        options: randomOptions([], { plain: true }),
        bytes: fc.integer({ min: 1, max: 500 }),
        address: fc.constantFrom('a', 'm', 'zz'),
      }),
    );
    fc.assert(
      fc.property(mixed, ({ members, model, options: plain, bytes, address }) => {
        const options = { ...plain, referenceCommit: 'c1' };
        const before = plan(members, model, options);
        // GPUs whose own RAM had to help do not hold the model by themselves.
        fc.pre(before.pipelines.every(({ stages }) => stages.every(({ plainRamBytes }) => plainRamBytes === 0)));
        fc.pre(before.fit !== 'DoesNotFit');
        const cpu: Member = { address, backend: 'Cpu', memoryBytes: bytes * unit, bandwidth: 9e9, build: 'c1' };
        expect(plan([...members, cpu], model, options).pipelines).toEqual(before.pipelines);
      }),
      runs,
    );
  });

  test('in a room of ten, who can hold nothing changes nothing', () => {
    const card = (address: string, memory: number, bandwidth: number): Member => {
      return { address, backend: 'Cuda', memoryBytes: memory * 1e9, bandwidth: bandwidth * 1e9, build: 'c1' };
    };
    const small = Array.from({ length: 8 }, (_, index) => card(`n${index}`, 12, 300));
    const ten = [card('fast', 16, 1000), card('big', 48, 300), ...small];
    const model = equalLayers(64, 125e6);
    const before = plan(ten, model, {});
    expect(before.pipelines[0]?.stages.map(({ address }) => address)).toEqual(['fast']);
    const idle: Member[] = [
      { address: 'office', backend: 'Cpu', memoryBytes: 4e9, bandwidth: 9e9, build: 'c1' },
      { ...card('paused', 24, 2000), paused: true },
      { ...card('stale', 24, 2000), stale: true },
      { ...card('other', 4, 100), build: 'c2' },
    ];
    for (const member of idle) expect(plan([...ten, member], model, {}).pipelines).toEqual(before.pipelines);
    const excluded = plan([...ten, card('out', 24, 2000)], model, { excluded: ['out'] });
    expect(excluded.pipelines).toEqual(before.pipelines);
  });

  test('decides ties by memory, then by address', () => {
    const tied = alikeMembers({ least: 1 }).chain((members) =>
      fc.record({ members: fc.constant(members), model: randomModel(), options: randomOptions([], { plain: true }) }),
    );
    fc.assert(
      fc.property(tied, ({ members, model, options }) => {
        const { pipelines } = plan(members, model, { ...options, coordinator: null, maxReplicas: 1 });
        const strongest = [...members].sort(
          (a, b) => b.memoryBytes - a.memoryBytes || (a.address < b.address ? -1 : 1),
        );
        const first = (pipelines[0]?.stages ?? []).map(({ address }) => address).sort();
        expect(first).toEqual(
          strongest
            .slice(0, first.length)
            .map(({ address }) => address)
            .sort(),
        );
      }),
      runs,
    );
  });

  test('decides a tie by memory also where one of the tied sums is off by its last bit', () => {
    const rooms = { e6: 59, h2: 51, u1: 23, o8: 8, w5: 60, d3: 60 };
    const members = Object.entries(rooms).map(
      ([address, memory]): Member => ({
        address,
        backend: 'Cuda',
        memoryBytes: memory * unit,
        bandwidth: 100 * unit,
        build: 'c1',
      }),
    );
    const model = {
      ...equalLayers(3, 1),
      hiddenSize: 2,
      vocabularySize: 10,
      outputBytes: 6 * unit,
      contextLength: 4096,
      cutPoints: [1],
      layers: [
        { weightBytes: 5 * unit, kvBytesPerToken: 3, slidingWindow: null },
        { weightBytes: 8 * unit, kvBytesPerToken: 6, slidingWindow: 2 },
        { weightBytes: 6 * unit, kvBytesPerToken: 5, slidingWindow: null },
      ],
    };
    const options = { contextLength: 941, slots: 7, batch: 4, engineHostBytes: 0, coordinator: null, maxReplicas: 1 };
    const { pipelines } = plan(members, model, options);
    expect(pipelines[0]?.stages.map(({ address }) => address)).toEqual(['d3', 'w5']);
  });
});

describe('a room with missing links', () => {
  test('gives a small member less than it could reach, so that it bridges two large ones', () => {
    // a cannot dial c, and b holds only one of the small layers, not the first, which has the embedding beside it: a must
    // stop after the first.
    const model = {
      ...equalLayers(4, 1),
      embeddingBytes: 1,
      layers: equalLayers(4, 1).layers.map((layer, index) => ({ ...layer, weightBytes: index === 2 ? 5 : 1 })),
    };
    const member = (address: string, memoryBytes: number): Member => ({
      address,
      backend: 'Cuda',
      memoryBytes,
      build: 'c1',
    });
    const settings = settingsOf(model, {
      headroom: 0,
      coordinator: 'a',
      links: [{ from: 'a', to: 'c', reachability: 'RelayOnly' }],
    });
    const { pipelines } = planWith([member('a', 7), member('b', 1), member('c', 6)], model, {
      ...settings,
      weightsOnly: true,
    });
    expect(pipelines[0]?.stages.map(({ address, startLayer, endLayer }) => [address, startLayer, endLayer])).toEqual([
      ['a', 0, 1],
      ['b', 1, 2],
      ['c', 2, 4],
    ]);
  });
});

describe('rooms too large to try everything', () => {
  test('still have the fewest hops where all layers are equal', () => {
    const large = fc.record({
      sizes: fc.array(fc.integer({ min: 3, max: 40 }), { minLength: 11, maxLength: 60 }),
      layers: fc.integer({ min: 1, max: 120 }),
      embedding: fc.integer({ min: 0, max: 12 }),
      output: fc.integer({ min: 0, max: 12 }),
      speeds: fc.array(fc.constantFrom(1e5, 3e5), { minLength: 60, maxLength: 60 }),
    });
    fc.assert(
      fc.property(large, ({ sizes, layers, embedding, output, speeds }) => {
        const model = { ...equalLayers(layers, 3), embeddingBytes: embedding, outputBytes: output };
        const members = sizes.map(
          (size, index): Member => ({
            address: `m${100 + index}`,
            backend: 'Cuda',
            memoryBytes: size,
            bandwidth: speeds[index] ?? 1,
            build: 'c1',
          }),
        );
        const bare = settingsOf(model, { headroom: 0, coordinator: null });
        const { pipelines } = planWith(members, model, { ...bare, weightsOnly: true });
        expect(pipelines[0]?.stages.length ?? null).toBe(fewestOfEqualLayers(sizes, layers, 3, embedding, output));
      }),
      {
        numRuns: 1000,
        // One set of four does, in 2 of its 24 orders, and the slow member stands first in both.
        examples: [
          [
            {
              sizes: [32, 3, 24, 3, 3, 3, 34, 3, 3, 3, 3, 3, 3, 27, 3],
              layers: 35,
              embedding: 10,
              output: 2,
              speeds: Array.from({ length: 60 }, (_, index) => ([0, 2, 13].includes(index) ? 3e5 : 1e5)),
            },
          ],
        ],
      },
    );
  });
});

/** The fewest members for equal layers: only who stands first and last matters, and the largest do best. */
function fewestOfEqualLayers(sizes: number[], layers: number, each: number, embedding: number, output: number) {
  const sorted = [...sizes].sort((a, b) => b - a);
  const held = (bytes: number) => Math.max(0, Math.floor(bytes / each));
  if (held((sorted[0] ?? 0) - embedding - output) >= layers) return 1;
  for (let count = 2; count <= Math.min(layers, sorted.length); count += 1) {
    const chosen = sorted.slice(0, count);
    const sum = chosen.reduce((total, size) => total + held(size), 0);
    for (const [first, a] of chosen.entries()) {
      for (const [last, b] of chosen.entries()) {
        const [front, back] = [held(a - embedding), held(b - output)];
        if (first === last || front === 0 || back === 0) continue;
        if (sum - held(a) - held(b) + front + back >= layers) return count;
      }
    }
  }
  return null;
}

describe('of the plans with the fewest hops', () => {
  test('takes the one that serves a request soonest', () => {
    const small = randomMembers({ least: 1, most: 4 })
      .map((members) => members.map((member) => bare(member)))
      .chain((members) =>
        fc.record({
          members: fc.constant(members),
          model: randomModel({ most: 5 }),
          options: randomOptions(members, { plain: true }),
          links: fc.option(randomLinks(members), { nil: undefined }),
        }),
      );
    fc.assert(
      fc.property(small, ({ members, model, options: plain, links }) => {
        const options = { ...plain, ...(links === undefined ? {} : { links }) };
        const result = plan(members, model, options);
        const [first] = result.pipelines;
        if (first === undefined) return;
        // Every order of every set of as many members is planned as the user's own choice, with every cut but one forbidden.
        const rival = { ...options, coordinator: result.coordinator, maxReplicas: 1 };
        for (const chosen of arrangements(members, first.stages.length)) {
          for (const cutPoints of choices(model.cutPoints, first.stages.length - 1)) {
            const other = plan(
              members,
              { ...model, cutPoints },
              { ...rival, members: chosen.map(({ address }) => address) },
            );
            const isRival =
              other.pipelines[0]?.stages.length === first.stages.length &&
              usesPlain(other, members) === usesPlain(result, members);
            if (!isRival) continue;
            expect(result.prediction?.tokensPerSecond).toBeGreaterThanOrEqual(
              (other.prediction?.tokensPerSecond ?? 0) * (1 - 1e-9),
            );
          }
        }
      }),
      { numRuns: 1000 },
    );
  });
});

/** A member that the gates let in, without RAM beside its card. */
function bare({ paused: _, stale: __, hostMemoryBytes: ___, ...member }: Member): Member {
  return { ...member, build: 'c1' };
}

function usesPlain({ pipelines }: Plan, members: readonly Member[]): boolean {
  const used = new Set(pipelines[0]?.stages.map(({ address }) => address));
  return members.some((member) => used.has(member.address) && deviceClassOf(member) === 'cpu');
}

/** All ordered choices of `count` items. */
function arrangements<T>(items: readonly T[], count: number): T[][] {
  if (count === 0) return [[]];
  return items.flatMap((item) =>
    arrangements(
      items.filter((other) => other !== item),
      count - 1,
    ).map((rest) => [item, ...rest]),
  );
}

/** All choices of `count` items in their order. */
function choices<T>(items: readonly T[], count: number): T[][] {
  if (count === 0) return [[]];
  return items.flatMap((item, index) => choices(items.slice(index + 1), count - 1).map((rest) => [item, ...rest]));
}

function partition<T>(items: readonly T[], belongs: (item: T) => boolean): [T[], T[]] {
  return [items.filter(belongs), items.filter((item) => !belongs(item))];
}
