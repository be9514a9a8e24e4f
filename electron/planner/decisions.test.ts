import { describe, expect, test } from 'vitest';
import { equalLayers } from './equalLayers.ts';
import type { Member } from './member.ts';
import { type Plan, plan } from './plan.ts';
import type { Link, PlanOptions } from './planOptions.ts';

const GB = 1e9;
const card = (address: string, gb: number, more: Partial<Member> = {}): Member => ({
  address,
  backend: 'Cuda',
  memoryBytes: gb * GB,
  bandwidth: 300e9,
  build: 'c1',
  ...more,
});
const pc = (address: string, gb: number, more: Partial<Member> = {}) =>
  card(address, gb, { backend: 'Cpu', bandwidth: 40e9, ...more });
const both = (a: string, b: string, more: Partial<Link>): Link[] => [
  { from: a, to: b, ...more },
  { from: b, to: a, ...more },
];
const layers = (count: number) => ({ ...equalLayers(count, GB), hiddenSize: 1 });
const bare = { headroom: 0, batch: 1, contextLength: 1, slots: 1 };
const stagesOf = ({ pipelines }: Plan) =>
  pipelines.map(({ stages }) => stages.map(({ address, startLayer, endLayer }) => [address, startLayer, endLayer]));
const rejectedBy = ({ rejected }: Plan) =>
  Object.fromEntries(rejected.map(({ address, reason }) => [address, reason.kind]));
/** A little more than so many layers, for the buffers. */
const room = (gb: number) => gb + 0.01;

describe('links and the one member that needs none', () => {
  const ways = both('ws', 'vpn', { reachability: 'RelayOnly' });

  test.each<[string, PlanOptions]>([
    ['that was named', { coordinator: 'ws' }],
    ['that was chosen', {}],
  ])('a relayed peer costs the leader %s nothing', (_, options) => {
    const result = plan([card('ws', 48), card('vpn', 8)], layers(20), { ...bare, ...options, links: ways });
    expect(result).toMatchObject({ fit: 'RunLocal', coordinator: 'ws' });
    expect(stagesOf(result)).toEqual([[['ws', 0, 20]]]);
    expect(rejectedBy(result)).toEqual({ vpn: 'NotDataPlaneReachable' });
  });

  test('a leader that cannot be dialled serves alone, and is no part of a ring', () => {
    const members = [card('ws', 24, { reachability: 'RelayOnly' }), card('b', 24)];
    expect(plan(members, layers(20), { ...bare, coordinator: 'ws' }).fit).toBe('RunLocal');
    const cluster = plan(members, layers(40), { ...bare, coordinator: 'ws' });
    expect(cluster.fit).toBe('DoesNotFit');
    expect(rejectedBy(cluster)).toMatchObject({ ws: 'NotDataPlaneReachable' });
  });

  test('where nobody leads, the first stage needs no way in', () => {
    const links: Link[] = [
      { from: 'a', to: 'b', reachability: 'LocalDirect' },
      { from: 'b', to: 'a', reachability: 'RelayOnly' },
    ];
    const result = plan([card('a', room(10)), card('b', room(10))], layers(20), { ...bare, coordinator: null, links });
    expect(stagesOf(result)).toEqual([
      [
        ['a', 0, 10],
        ['b', 10, 20],
      ],
    ]);
  });
});

describe('who leads', () => {
  test('a larger member with few links does not, where the model fits only without it', () => {
    const members = [card('big', 16), card('a', 12), card('b', 12)];
    const links = [
      ...both('a', 'b', { reachability: 'Direct' }),
      ...both('big', 'a', { reachability: 'RelayOnly' }),
      { from: 'big', to: 'b', reachability: 'RelayOnly' as const },
      { from: 'b', to: 'big', reachability: 'Direct' as const },
    ];
    const before = plan(members.slice(1), layers(20), { ...bare, links: links.slice(0, 2) });
    const after = plan(members, layers(20), { ...bare, links });
    expect(after).toMatchObject({ fit: 'ClusterRequired', hops: 1, coordinator: 'a' });
    expect(stagesOf(after)).toEqual(stagesOf(before));
  });

  test('a small one does, where the draft would take the room of a layer on a large one', () => {
    const draft = { bytes: 2 * GB, tokens: 1 };
    const result = plan([card('big', room(20)), card('small', 4)], layers(20), { ...bare, draft });
    expect(result).toMatchObject({ fit: 'RunLocal', coordinator: 'small' });
  });
});

describe('the build of the room', () => {
  test.each([
    ['a tiny member with a lower address', card('a', 0.02, { build: 'c0' })],
    ['a member without a GPU, however large', pc('a', 500, { build: 'c0' })],
  ])('is not changed by %s', (_, newcomer) => {
    const result = plan([card('z', 48), newcomer], layers(20), bare);
    expect(result).toMatchObject({ fit: 'RunLocal', referenceCommit: 'c1' });
    expect(rejectedBy(result)).toEqual({ a: 'BuildMismatch' });
  });

  test('is the one that serves, then with fewer hops, then with more tokens/s, then with more GPU memory', () => {
    const two = [card('a', 12), card('b', 12)];
    const larger = card('c', 30, { build: 'c2' });
    expect(plan([...two, card('c', 19, { build: 'c2' })], layers(20), bare)).toMatchObject({ referenceCommit: 'c1' });
    expect(plan([...two, larger], layers(20), bare)).toMatchObject({ referenceCommit: 'c2', hops: 0 });
    // Two that serve alone serve twice as many.
    expect(plan([...two, larger], layers(10), bare)).toMatchObject({ referenceCommit: 'c1', hops: 0 });
    expect(plan([...two, card('c', 19, { build: 'c2', bandwidth: 301e9 })], layers(10), bare).referenceCommit).toBe(
      'c2',
    );
    expect(plan([card('a', 12), larger], layers(10), bare).referenceCommit).toBe('c2');
    expect(plan([...two, card('c', 11, { build: 'c2' })], layers(10), bare)).toMatchObject({ referenceCommit: 'c1' });
    expect(plan([...two, larger], layers(20), { ...bare, coordinator: 'a' })).toMatchObject({ referenceCommit: 'c1' });
  });
});

describe('a measured stage', () => {
  const member = card('a', 8, { flops: 1e3, hostMemoryBytes: 40 * GB, hostBandwidth: 1e9 });

  test.each([
    ['flops that would say otherwise', 8],
    ['plain RAM that it spills to', 20],
  ])('takes what was measured, in spite of %s', (_, count) => {
    const measured = [{ address: 'a', startLayer: 0, endLayer: count, ms: 7 }];
    const model = {
      ...layers(count),
      layers: layers(count).layers.map((each) => ({ ...each, weightBytes: 0.9 * GB })),
    };
    const [first] = plan([member], model, { ...bare, measured }).pipelines;
    expect(first?.prediction.stages[0]?.ms).toBeCloseTo(7, 9);
  });
});

describe('a proportional plan', () => {
  test('leaves plain RAM out where GPUs hold the model, unless asked', () => {
    const members = [card('a', 12), card('b', 12), pc('c', 64)];
    const gpus = plan(members, layers(20), { ...bare, policy: 'proportional', force: 'cluster' });
    expect(gpus.spare).toEqual(['c']);
    expect(stagesOf(gpus)).toEqual(
      stagesOf(plan(members.slice(0, 2), layers(20), { ...bare, policy: 'proportional' })),
    );
    const asked = { ...bare, policy: 'proportional', force: 'cluster', plainRam: 'always' } as const;
    expect(plan(members, layers(20), asked).pipelines[0]?.stages).toHaveLength(3);
  });

  test('says why it has one pipeline though more were asked for', () => {
    const options = { ...bare, policy: 'proportional', replicas: 2 } as const;
    const shared = plan([card('a', 12), card('b', 12), card('c', 12), card('d', 12)], layers(20), options);
    expect(shared.explain).toContain('2 pipelines asked for; a proportional plan is one, for everyone is part of it.');
    expect(plan([card('a', 24), card('b', 24)], layers(20), options).pipelines).toHaveLength(2);
  });
});

describe('a model', () => {
  test('stays whole for a reason, whatever cut points it has', () => {
    const model = { ...layers(20), unsplittableReason: 'its layers share state' };
    expect(plan([card('a', 12), card('b', 12)], model, bare).fit).toBe('DoesNotFit');
  });

  test('that does not say its context length is planned for the usual one', () => {
    const silent = { ...layers(4), contextLength: 0 };
    const [first] = plan([card('a', 12)], silent, {}).pipelines;
    expect(first).toEqual(plan([card('a', 12)], silent, { contextLength: 8192 }).pipelines[0]);
  });

  test('that would fit with less context says so in tokens of one request', () => {
    const model = {
      ...layers(10),
      contextLength: 1e6,
      layers: layers(10).layers.map((layer) => ({ ...layer, kvBytesPerToken: 1e5 })),
    };
    const { shortfall, explain } = plan([card('a', 12)], model, {
      headroom: 0,
      batch: 1,
      slots: 4,
      contextLength: 8192,
    });
    const advice = shortfall?.help.find((help) => help.kind === 'SmallerContext');
    expect(advice).toMatchObject({ perRequest: (advice?.contextLength ?? 0) / 4 });
    expect(explain).toContain(`A context of ${advice?.perRequest} tokens for each request would do.`);
  });
});
