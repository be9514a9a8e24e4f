import type { Member } from '../../electron/planner/member.ts';
import type { ModelShape } from '../../electron/planner/modelShape.ts';
import { plan } from '../../electron/planner/plan.ts';
import type { Link, PlanOptions } from '../../electron/planner/planOptions.ts';
import type { BenchReport } from './report.ts';

interface Room {
  name: string;
  members: Member[];
  model: ModelShape;
  options: PlanOptions;
  runs: number;
  targetMs: number | null;
}

/** Left out: the engine compiles meanwhile. */
const WARM_UP = 0.3;

/** How long a plan takes, from checking the input to the last line of the explanation. */
export async function planBench(): Promise<BenchReport> {
  const small = unequal(8);
  const large = unequal(200);
  const rooms: Room[] = [
    { name: '8 unequal members', members: small, model: modelOf(80), options: {}, runs: 500, targetMs: 1 },
    { name: '8 equal members', members: equal(8), model: modelOf(80), options: {}, runs: 500, targetMs: 1 },
    {
      name: '8 with measured links',
      members: small,
      model: modelOf(80),
      options: { links: linksOf(small) },
      runs: 500,
      targetMs: 1,
    },
    {
      name: '8 proportional',
      members: small,
      model: modelOf(80),
      options: { policy: 'proportional' },
      runs: 500,
      targetMs: 1,
    },
    { name: '200 unequal members', members: large, model: modelOf(128), options: {}, runs: 40, targetMs: 50 },
    { name: '200 equal members', members: equal(200), model: modelOf(128), options: {}, runs: 40, targetMs: 50 },
    {
      name: '200 proportional',
      members: large,
      model: modelOf(128),
      options: { policy: 'proportional' },
      runs: 40,
      targetMs: 50,
    },
    {
      name: '200 with 39,800 links',
      members: large,
      model: modelOf(128),
      options: { links: linksOf(large) },
      runs: 20,
      targetMs: null,
    },
  ];
  return {
    title: 'Planning: milliseconds for one plan',
    columns: ['room', 'layers', 'pipelines', 'hops', 'median ms', 'p90 ms', 'target ms'],
    rows: rooms.map(row),
  };
}

function row({ name, members, model, options, runs, targetMs }: Room): Record<string, string | number> {
  const times: number[] = [];
  for (let run = 0; run < runs * (1 + WARM_UP); run += 1) {
    const start = performance.now();
    plan(members, model, options);
    times.push(performance.now() - start);
  }
  const sorted = times.slice(Math.floor(runs * WARM_UP)).sort((a, b) => a - b);
  const at = (share: number) => Number((sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(3));
  const { pipelines, hops } = plan(members, model, options);
  return {
    room: name,
    layers: model.layers.length,
    pipelines: pipelines.length,
    hops,
    'median ms': at(0.5),
    'p90 ms': at(0.9),
    'target ms': targetMs ?? '',
  };
}

/** Memory and speed differ, without a random number: the same rooms in every run. */
function unequal(count: number): Member[] {
  return Array.from({ length: count }, (_, index) => ({
    address: `10.0.${Math.floor(index / 100)}.${index % 100}:7000`,
    backend: index % 3 === 0 ? ('Metal' as const) : ('Cuda' as const),
    memoryBytes: (8 + ((index * 7) % 40)) * 1e9,
    bandwidth: (300 + ((index * 37) % 700)) * 1e9,
    build: 'c1',
  }));
}

function equal(count: number): Member[] {
  return unequal(count).map((member) => ({ ...member, backend: 'Cuda', memoryBytes: 24e9, bandwidth: 5e11 }));
}

function linksOf(members: readonly Member[]): Link[] {
  return members.flatMap((from, i) =>
    members.flatMap((to, j) =>
      i === j
        ? []
        : [{ from: from.address, to: to.address, rttMs: 0.2 + ((i * 13 + j * 7) % 30) / 10, bytesPerSecond: 117e6 }],
    ),
  );
}

/** Layers of a 70 B model at 4 bits. */
function modelOf(layers: number): ModelShape {
  return {
    name: `${layers} layers`,
    architecture: 'llama',
    hiddenSize: 8192,
    vocabularySize: 128_256,
    contextLength: 131_072,
    layers: Array.from({ length: layers }, () => ({ weightBytes: 48e7, kvBytesPerToken: 4096, slidingWindow: null })),
    embeddingBytes: 6e8,
    outputBytes: 86e7,
    sharedBytes: 512,
    cutPoints: Array.from({ length: layers - 1 }, (_, index) => index + 1),
    unsplittableReason: null,
  };
}
