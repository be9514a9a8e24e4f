import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deviceClassOf } from './member.ts';
import { plan } from './plan.ts';
import { roomFor } from './testing/bruteForce.ts';
import { randomLinks, randomMembers, randomModel, randomScene, shuffled } from './testing/randomRoom.ts';

const runs = { numRuns: 1500 };

/** Rooms small enough to be searched exactly, and larger ones. */
const rooms = [
  { size: 'small', scene: randomScene() },
  { size: 'large', scene: randomScene({ members: 24, layers: 20 }) },
];

describe.each(rooms)('every plan of a $size room', ({ scene: anyScene }) => {
  test('covers the layers exactly once and in order, at allowed cuts, with nobody in two places', () => {
    fc.assert(
      fc.property(anyScene, ({ members, model, options }) => {
        const { pipelines, fit } = plan(members, model, options);
        expect(pipelines.length === 0).toBe(fit === 'DoesNotFit');
        const used = pipelines.flatMap(({ stages }) => stages.map(({ address }) => address));
        expect(new Set(used).size).toBe(used.length);
        for (const { stages, hops } of pipelines) {
          expect(hops).toBe(stages.length - 1);
          let next = 0;
          for (const { startLayer, endLayer } of stages) {
            expect(startLayer).toBe(next);
            expect(endLayer).toBeGreaterThan(startLayer);
            if (startLayer > 0) expect(model.cutPoints).toContain(startLayer);
            next = endLayer;
          }
          expect(next).toBe(model.layers.length);
        }
      }),
      runs,
    );
  });

  test('gives no member more than it offers', () => {
    fc.assert(
      fc.property(anyScene, ({ members, model, options }) => {
        const result = plan(members, model, options);
        for (const { stages } of result.pipelines) {
          for (const { address, bytes, freeBytes } of stages) {
            const member = members.find((each) => each.address === address);
            if (member === undefined) throw new Error(`${address} is not in the room`);
            const room = roomFor(member, options, result.coordinator, options.plainRam !== 'never');
            expect(bytes.total).toBeLessThanOrEqual(room);
            expect(freeBytes).toBeGreaterThanOrEqual(0);
          }
        }
      }),
      runs,
    );
  });

  test('gives rejected members no layer, and accounts for every member once', () => {
    fc.assert(
      fc.property(anyScene, ({ members, model, options }) => {
        const { pipelines, rejected, spare } = plan(members, model, options);
        const accounted = [
          ...pipelines.flatMap(({ stages }) => stages.map(({ address }) => address)),
          ...rejected.map(({ address }) => address),
          ...spare,
        ];
        expect(accounted.sort()).toEqual(members.map(({ address }) => address).sort());
      }),
      runs,
    );
  });

  test('leaves out whoever may not take part', () => {
    fc.assert(
      fc.property(anyScene, ({ members, model, options }) => {
        const result = plan(members, model, options);
        const used = new Set(result.pipelines.flatMap(({ stages }) => stages.map(({ address }) => address)));
        for (const member of members.filter(({ address }) => used.has(address))) {
          expect(member.paused ?? false).toBe(false);
          expect(member.stale ?? false).toBe(false);
          expect(member.build).toBe(result.referenceCommit);
          expect(options.excluded ?? []).not.toContain(member.address);
          if (options.members !== undefined) expect(options.members).toContain(member.address);
          if (options.plainRam === 'never') expect(deviceClassOf(member)).not.toBe('cpu');
        }
        for (const { stages } of result.pipelines) {
          if (options.members === undefined) continue;
          const places = stages.map(({ address }) => options.members?.indexOf(address));
          expect(places).toEqual([...places].sort((a = 0, b = 0) => a - b));
        }
      }),
      runs,
    );
  });

  test('is the same for the same room in another order', () => {
    const scene = anyScene.chain((given) =>
      fc.record({
        given: fc.constant(given),
        members: shuffled(given.members),
        links: shuffled(given.options.links ?? []),
        excluded: shuffled(given.options.excluded ?? []),
      }),
    );
    fc.assert(
      fc.property(scene, ({ given, members, links, excluded }) => {
        const options = {
          ...given.options,
          ...(given.options.links === undefined ? {} : { links }),
          ...(given.options.excluded === undefined ? {} : { excluded }),
        };
        expect(plan(members, given.model, options)).toEqual(plan(given.members, given.model, given.options));
      }),
      runs,
    );
  });

  test('never changes its input', () => {
    fc.assert(
      fc.property(anyScene, (scene) => {
        const before = JSON.stringify(scene);
        const { members, model, options } = frozen(scene);
        plan(members, model, options);
        expect(JSON.stringify(scene)).toBe(before);
      }),
      runs,
    );
  });

  test('is plain data', () => {
    fc.assert(
      fc.property(anyScene, ({ members, model, options }) => {
        const result = plan(members, model, options);
        expect(JSON.parse(JSON.stringify(result))).toEqual(result);
      }),
      { numRuns: 500 },
    );
  });

  test('honours a forced number of members and of pipelines', () => {
    fc.assert(
      fc.property(anyScene, ({ members, model, options }) => {
        const { pipelines } = plan(members, model, options);
        for (const { stages } of pipelines) {
          if (options.force === 'single') expect(stages).toHaveLength(1);
          if (options.force === 'cluster') expect(stages.length).toBeGreaterThan(1);
        }
        expect(pipelines.length).toBeLessThanOrEqual(options.replicas ?? Number.POSITIVE_INFINITY);
        expect(pipelines.length).toBeLessThanOrEqual(options.maxReplicas ?? Number.POSITIVE_INFINITY);
      }),
      runs,
    );
  });
});

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(frozen);
    Object.freeze(value);
  }
  return value;
}

test('a plan is the same whatever characters addresses are made of', () => {
  const named = (name: (index: number) => string) => (address: string) => name(Number(address.slice(1)));
  const scene = fc
    .tuple(randomMembers({ least: 2, most: 6 }), randomModel())
    .map(([members, model]) => ({ members: members.map((member, at) => ({ ...member, address: `m${at}` })), model }))
    .chain(({ members, model }) =>
      fc.record({
        members: fc.constant(members),
        model: fc.constant(model),
        links: randomLinks(members),
      }),
    );
  fc.assert(
    fc.property(scene, ({ members, model, links }) => {
      const stagesWhere = (nameOf: (address: string) => string) =>
        plan(
          members.map((member) => ({ ...member, address: nameOf(member.address) })),
          model,
          {
            contextLength: 1,
            batch: 1,
            engineHostBytes: 0,
            links: links.map((link) => ({ ...link, from: nameOf(link.from), to: nameOf(link.to) })),
          },
        ).pipelines.map(({ stages }) => stages.map(({ address, endLayer }) => [address, endLayer]));
      // Joined by any one separator, some lists of these names read alike.
      const odd = named((index) =>
        Array(index + 1)
          .fill('a')
          .join(' '),
      );
      const expected = stagesWhere((address) => address).map((stages) =>
        stages.map(([address = '', end]) => [odd(String(address)), end]),
      );
      expect(stagesWhere(odd)).toEqual(expected);
    }),
    runs,
  );
});
