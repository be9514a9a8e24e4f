import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { equalLayers } from '../equalLayers.ts';
import { carriesActivations, type Member } from '../member.ts';
import { type Plan, plan } from '../plan.ts';
import type { Link } from '../planOptions.ts';
import { alikeMembers, randomLinks, randomModel, randomOptions } from '../testing/randomRoom.ts';

const runs = { numRuns: 2000 };
const almost = 1 - 1e-9;

const card = (address: string, gb: number): Member => ({
  address,
  backend: 'Cuda',
  memoryBytes: (gb + 0.01) * 1e9,
  bandwidth: 300e9,
  build: 'c1',
});

describe('of equally soon plans the one that serves most at once', () => {
  test('is balanced over machines of equal speed', () => {
    const model = { ...equalLayers(30, 1e9), hiddenSize: 1 };
    const options = { headroom: 0, batch: 1, contextLength: 1, slots: 4, coordinator: null };
    const old = [card('m0', 13), card('m1', 18)];
    const countsOf = (members: Member[]) =>
      plan(members, model, options).pipelines[0]?.stages.map(({ startLayer, endLayer }) => endLayer - startLayer);
    const manyOf = (members: Member[]) => plan(members, model, options).prediction?.tokensPerSecondMany;
    expect(countsOf(old)?.sort()).toEqual([13, 17]);
    expect(countsOf([...old, card('a', 27)])).toEqual([15, 15]);
    // Two micro-batches of two sequences; a stage of 17 layers of 1 GB at 300 GB/s takes 170/3 ms.
    expect(manyOf(old)).toBeCloseTo(4000 / (2 * (170 / 3)), 3);
    // Two stages of 50 ms, and the hop between them, a quarter of a millisecond.
    expect(manyOf([...old, card('a', 27)])).toBeCloseTo(4000 / (2 * 50 + 0.25), 3);
  });

  const rooms = [
    { leader: 'given', speeds: 'alike' },
    { leader: 'given', speeds: 'unlike' },
    { leader: 'nobody', speeds: 'alike' },
    { leader: 'nobody', speeds: 'unlike' },
    { leader: 'chosen', speeds: 'alike' },
    { leader: 'chosen', speeds: 'unlike' },
  ] as const;

  test.each(rooms)('a newcomer costs nothing: leader $leader, speeds $speeds', ({ leader, speeds }) => {
    let replicas = 0;
    fc.assert(
      fc.property(growing(speeds), ({ members, model, options: costs }) => {
        const [newcomer, ...old] = members;
        if (newcomer === undefined) return;
        const given = { given: old[0]?.address ?? null, nobody: null, chosen: undefined };
        const options = { ...costs, coordinator: given[leader] };
        const before = plan(old, model, options);
        const after = plan([...old, newcomer], model, options);
        if (before.prediction === null) return;
        if (before.pipelines.length > 1) replicas += 1;
        expect(after.fit).not.toBe('DoesNotFit');
        expect(after.hops).toBeLessThanOrEqual(before.hops);
        if (after.hops < before.hops || after.prediction === null) return;
        expect(after.prediction.tokensPerSecond).toBeGreaterThanOrEqual(before.prediction.tokensPerSecond * almost);
        if (after.prediction.tokensPerSecond > before.prediction.tokensPerSecond / almost) return;
        expect(after.prediction.tokensPerSecondMany).toBeGreaterThanOrEqual(
          before.prediction.tokensPerSecondMany * almost,
        );
      }),
      runs,
    );
    expect(replicas).toBeGreaterThan(100);
  });

  const larger = [
    { leader: 'given', links: 'unknown', numRuns: 400 },
    { leader: 'chosen', links: 'unknown', numRuns: 400 },
    { leader: 'nobody', links: 'unknown', numRuns: 200 },
    { leader: 'given', links: 'measured', numRuns: 80 },
    { leader: 'chosen', links: 'measured', numRuns: 80 },
  ] as const;

  test.each(larger)(
    'in rooms of up to sixteen a newcomer adds no hop and slows no request: leader $leader, links $links',
    ({ leader, links: known, numRuns }) => {
      const room = growing('unlike', { least: 10, most: 16, layers: 12 }).chain((scene) =>
        fc.record({
          scene: fc.constant(scene),
          hosts: fc.array(fc.constantFrom(0, 0, 0, 20_000), { minLength: 16, maxLength: 16 }),
          links: known === 'measured' ? randomLinks(scene.members) : fc.constant<Link[]>([]),
        }),
      );
      fc.assert(
        fc.property(room, ({ scene: { members: bare, model, options: costs }, hosts, links }) => {
          const members = bare.map((member, index) => ({ ...member, hostMemoryBytes: hosts[index] }));
          const [newcomer, ...old] = members;
          if (newcomer === undefined) return;
          const given = { given: old[0]?.address ?? null, nobody: null, chosen: undefined };
          const options = { ...costs, coordinator: given[leader] };
          const ways = links.filter(({ from, to }) => from !== newcomer.address && to !== newcomer.address);
          const before = plan(old, model, { ...options, links: ways });
          // Where some do not reach others, more than six stages of more than ten are laid without trying everything.
          const reaches = ({ reachability = 'Direct' }: Link) => carriesActivations(reachability);
          if (!links.every(reaches) && before.hops >= 6) return;
          const after = plan(members, model, { ...options, links });
          expect(isWorse(after, before)).toBe(false);
        }),
        { numRuns },
      );
    },
  );

  test('leaves a large member to the second pipeline where that makes one more', () => {
    const model = { ...equalLayers(38, 1e9), hiddenSize: 1 };
    const members = [card('a', 24), card('b', 24), card('c', 16), card('d', 16)];
    const { pipelines } = plan(members, model, {
      headroom: 0,
      batch: 1,
      contextLength: 1,
      slots: 4,
      coordinator: null,
    });
    expect(pipelines.map(({ stages }) => stages.map(({ address }) => address).sort())).toEqual([
      ['a', 'c'],
      ['b', 'd'],
    ]);
  });
});

/** The order of plans: those without the RAM beside a card, then fewer hops, then more tokens/s of one request. */
function isWorse(after: Plan, before: Plan): boolean {
  const of = (result: Plan) => [
    result.fit === 'DoesNotFit' ? 1 : 0,
    result.pipelines[0]?.stages.some(({ plainRamBytes }) => plainRamBytes > 0) ? 1 : 0,
    result.hops,
    -(result.prediction?.tokensPerSecond ?? 0),
  ];
  const was = of(before);
  const [first] = of(after)
    .map((value, index) => ({ value, least: was[index] ?? 0 }))
    .filter(({ value, least }) => Math.abs(value - least) > 1e-9 * Math.abs(least));
  return first !== undefined && first.value > first.least;
}

/** Members of one class; the first is the newcomer. */
function growing(speeds: 'alike' | 'unlike', { least = 2, most = 8, layers = 8 } = {}) {
  return alikeMembers({ least, most }).chain((members) =>
    fc.record({
      members: fc
        .tuple(
          ...members.map((member) =>
            fc
              .record({
                bandwidth: fc.constantFrom(1e5, 3e5, 7e5),
                flops: fc.option(fc.constantFrom(1e6, 1e9), { nil: undefined }),
                build: fc.constantFrom('c1', 'c1', 'c1', 'c1', 'c0'),
              })
              .map(({ bandwidth, flops, build }) =>
                speeds === 'alike' ? { ...member, build } : { ...member, bandwidth, flops, build },
              ),
          ),
        )
        .map((drawn): Member[] => drawn),
      model: randomModel({ most: layers }),
      options: randomOptions(members, { plain: true }),
    }),
  );
}
