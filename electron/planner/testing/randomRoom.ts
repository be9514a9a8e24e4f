import fc from 'fast-check';
import type { Member, Reachability } from '../member.ts';
import type { LayerShape, ModelShape } from '../modelShape.ts';
import type { Link, MeasuredStage, PlanOptions } from '../planOptions.ts';

/** Bytes of one unit: small numbers, so that exact fits and misses by one byte are common. */
export const unit = 1000;

const bytes = (least: number, most: number) => fc.integer({ min: least, max: most }).map((units) => units * unit);

function layer(mixture: boolean): fc.Arbitrary<LayerShape> {
  return fc
    .record({
      weightBytes: bytes(1, 12),
      kvBytesPerToken: fc.integer({ min: 0, max: 8 }),
      slidingWindow: fc.option(fc.integer({ min: 1, max: 600 }), { nil: null, freq: 3 }),
      expertShare: fc.integer({ min: 0, max: 10 }),
    })
    .map(({ expertShare, ...shape }) => ({
      ...shape,
      ...(mixture ? { expertBytes: Math.floor((shape.weightBytes * expertShare) / 10) } : {}),
    }));
}

/** A model of up to `most` layers, with layers of unequal size and cut points anywhere, or of equal layers. */
export function randomModel({ most = 7 }: { most?: number } = {}): fc.Arbitrary<ModelShape> {
  return fc
    .record({
      mixture: fc.boolean(),
      count: fc.integer({ min: 1, max: most }),
      even: fc.boolean(),
      drawn: fc.array(layer(true), { minLength: most, maxLength: most }),
      cutEverywhere: fc.boolean(),
      cuts: fc.array(fc.boolean(), { minLength: most, maxLength: most }),
      embeddingBytes: bytes(0, 10),
      outputBytes: bytes(0, 10),
      sharedBytes: bytes(0, 1),
      tied: fc.boolean(),
      // Two halves are as long as a token id: an entry to the ring costs no more than a hop.
      hiddenSize: fc.integer({ min: 2, max: 16 }),
      vocabularySize: fc.integer({ min: 1, max: 64 }),
      parameters: fc.option(fc.integer({ min: 1000, max: 100_000 }), { nil: undefined }),
    })
    .map(({ mixture, count, even, drawn, cutEverywhere, cuts, tied, ...rest }) => {
      const [first, ...others] = drawn.slice(0, count).map((each) => {
        const { expertBytes = 0, ...dense } = each;
        return mixture ? { ...dense, expertBytes } : dense;
      });
      const layers = first === undefined ? [] : [first, ...(even ? others.map(() => ({ ...first })) : others)];
      const cutPoints = Array.from({ length: count - 1 }, (_, index) => index + 1);
      return {
        ...rest,
        name: 'Random',
        architecture: 'llama',
        contextLength: 4096,
        layers,
        tiedBytes: tied ? Math.min(rest.embeddingBytes, rest.outputBytes) : 0,
        cutPoints: cutEverywhere
          ? cutPoints
          : cuts.slice(0, count - 1).flatMap((cut, index) => (cut ? [index + 1] : [])),
        unsplittableReason: null,
        ...(mixture ? { experts: { count: 8, usedPerToken: 2 } } : {}),
      };
    });
}

const awake: fc.Arbitrary<Reachability> = fc.constantFrom('LocalDirect', 'Direct');
const anyReach: fc.Arbitrary<Reachability> = fc.constantFrom('LocalDirect', 'Direct', 'RelayOnly', 'SymmetricNat');

/** Members of all kinds, some of which the gates must keep out. Addresses are not in order. */
export function randomMembers({ least = 0, most = 7 }: { least?: number; most?: number } = {}): fc.Arbitrary<Member[]> {
  const member = fc.record(
    {
      address: fc.stringMatching(/^[a-z][0-9]$/),
      backend: fc.constantFrom('Cuda', 'Metal', 'Vulkan', 'Cpu'),
      memoryBytes: bytes(1, 60),
      hostMemoryBytes: fc.oneof(fc.constant(0), bytes(1, 60)),
      bandwidth: fc.constantFrom(1e5, 2e5, 5e5, 9e5),
      hostBandwidth: fc.constantFrom(1e4, 5e4),
      flops: fc.constantFrom(1e5, 1e7, 1e9),
      headroomBytes: fc.option(bytes(0, 3), { nil: undefined }),
      build: fc.constantFrom('c1', 'c1', 'c1', 'c1', 'c0', 'c2'),
      reachability: fc.oneof({ arbitrary: awake, weight: 5 }, { arbitrary: anyReach, weight: 1 }),
      paused: fc.constantFrom(false, false, false, false, true),
      stale: fc.constantFrom(false, false, false, false, true),
    },
    { requiredKeys: ['address', 'backend', 'memoryBytes', 'build'] },
  );
  return fc.uniqueArray(member, { minLength: least, maxLength: most, selector: ({ address }) => address });
}

/** Members that differ in memory alone: one class of machine, all of them let in. */
export function alikeMembers({ least = 1, most = 7 }: { least?: number; most?: number } = {}): fc.Arbitrary<Member[]> {
  return fc
    .record({
      kind: fc.constantFrom('Cuda' as const, 'Metal' as const, 'Cpu' as const),
      bandwidth: fc.constantFrom(1e5, 7e5),
      sizes: fc.array(bytes(1, 60), { minLength: least, maxLength: most }),
      names: fc.uniqueArray(fc.stringMatching(/^[a-z][0-9]$/), { minLength: most, maxLength: most }),
    })
    .map(({ kind, bandwidth, sizes, names }) =>
      sizes.map((memoryBytes, index) => ({
        address: names[index] ?? '',
        backend: kind,
        memoryBytes,
        bandwidth,
        build: 'c1',
      })),
    );
}

/** Measured links among some pairs of the members. */
export function randomLinks(members: readonly Member[]): fc.Arbitrary<Link[]> {
  const pairs = members.flatMap((from) =>
    members.filter((to) => to !== from).map((to) => ({ from: from.address, to: to.address })),
  );
  return fc.subarray(pairs).chain((chosen) =>
    fc.tuple(
      ...chosen.map((pair) =>
        fc
          .record(
            {
              rttMs: fc.double({ min: 0.05, max: 30, noNaN: true }),
              bytesPerSecond: fc.constantFrom(1e6, 1e8, 1e9),
              reachability: fc.oneof({ arbitrary: awake, weight: 3 }, { arbitrary: anyReach, weight: 1 }),
            },
            { requiredKeys: [] },
          )
          .map((measured) => ({ ...pair, ...measured })),
      ),
    ),
  );
}

/** Options of all kinds for these members; with `plain`, only those that leave the choice of members to the planner. */
export function randomOptions(members: readonly Member[], { plain = false } = {}): fc.Arbitrary<PlanOptions> {
  const addresses = members.map(({ address }) => address);
  const costs = {
    contextLength: fc.integer({ min: 1, max: 1200 }),
    slots: fc.integer({ min: 1, max: 8 }),
    kvType: fc.constantFrom('f16' as const, 'q8_0' as const),
    swaFull: fc.boolean(),
    batch: fc.integer({ min: 1, max: 4 }),
    draft: fc.option(fc.record({ bytes: bytes(0, 4), tokens: fc.integer({ min: 0, max: 8 }) }), { nil: null }),
    engineHostBytes: bytes(0, 3),
    headroom: fc.constantFrom(0, 0.05, 0.3),
    promptTokens: fc.integer({ min: 1, max: 2000 }),
    exact: fc.boolean(),
  };
  const always = fc.record(costs, { requiredKeys: ['contextLength', 'batch', 'engineHostBytes'] });
  if (plain) return always;
  const wishes = fc.record(
    {
      policy: fc.constantFrom('hop-minimal' as const, 'proportional' as const),
      force: fc.constantFrom('single' as const, 'cluster' as const),
      plainRam: fc.constantFrom('last-resort' as const, 'always' as const, 'never' as const),
      replicas: fc.integer({ min: 1, max: 3 }),
      maxReplicas: fc.integer({ min: 1, max: 3 }),
      excluded: fc.subarray(addresses),
      members: fc.shuffledSubarray(addresses),
      coordinator: addresses.length === 0 ? fc.constant(null) : fc.constantFrom(null, ...addresses),
      referenceCommit: fc.constant('c1'),
    },
    { requiredKeys: [] },
  );
  return fc
    .tuple(always, wishes, fc.option(randomLinks(members), { nil: undefined }))
    .map(([cost, wish, links]) => ({ ...cost, ...wish, ...(links === undefined ? {} : { links }) }));
}

/** Stage times that some of the members had. */
function randomMeasurements(members: readonly Member[], model: ModelShape): fc.Arbitrary<MeasuredStage[]> {
  const count = model.layers.length;
  return fc.subarray(members.map(({ address }) => address)).chain((addresses) =>
    fc.tuple(
      ...addresses.map((address) =>
        fc
          .record({
            startLayer: fc.integer({ min: 0, max: count - 1 }),
            layers: fc.integer({ min: 1, max: count }),
            ms: fc.constantFrom(0.5, 20, 300),
          })
          .map(({ startLayer, layers, ms }) => ({
            address,
            startLayer,
            endLayer: Math.min(count, startLayer + layers),
            ms,
          })),
      ),
    ),
  );
}

/** A room with a model and options of all kinds. */
export interface Scene {
  members: Member[];
  model: ModelShape;
  options: PlanOptions;
}

export function randomScene({ members: most = 7, layers = 7 } = {}): fc.Arbitrary<Scene> {
  return fc.tuple(randomMembers({ most }), randomModel({ most: layers })).chain(([members, model]) =>
    fc
      .tuple(randomOptions(members), fc.option(randomMeasurements(members, model), { nil: undefined, freq: 2 }))
      .map(([options, measured]) => ({
        members,
        model,
        options: measured === undefined ? options : { ...options, measured },
      })),
  );
}

/** The same room told in another order. */
export function shuffled<T>(items: readonly T[]): fc.Arbitrary<T[]> {
  return fc.shuffledSubarray([...items], { minLength: items.length, maxLength: items.length });
}
