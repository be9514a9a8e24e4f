import fc from 'fast-check';
import { expect, test } from 'vitest';
import { equalLayers } from '../equalLayers.ts';
import type { Member } from '../member.ts';
import { plan } from '../plan.ts';
import { randomScene } from '../testing/randomRoom.ts';

const speed = fc.double({ min: 0.05, max: 20, noNaN: true });

test('what was learnt of speeds changes neither what fits nor how many hops it takes, and no bytes of a stage', () => {
  const scene = randomScene().chain((each) =>
    fc.tuple(fc.constant(each), fc.array(speed, { minLength: 7, maxLength: 7 })),
  );
  fc.assert(
    fc.property(scene, ([{ members, model, options }, speeds]) => {
      const plain = plan(members, model, options);
      const room = members.map((member, index): Member => ({ ...member, stageSpeed: speeds[index] }));
      const learnt = plan(room, model, options);
      expect(learnt.fit).toBe(plain.fit);
      expect(learnt.hops).toBe(plain.hops);
      expect(learnt.shortfall?.missingBytes).toBe(plain.shortfall?.missingBytes);
      const bytesOf = new Map(
        plain.pipelines.flatMap(({ stages }) =>
          stages.map(({ address, startLayer, endLayer, bytes }) => [`${address} ${startLayer} ${endLayer}`, bytes]),
        ),
      );
      for (const { address, startLayer, endLayer, bytes, freeBytes } of learnt.pipelines.flatMap(
        (each) => each.stages,
      )) {
        expect(freeBytes).toBeGreaterThanOrEqual(0);
        expect(bytes).toEqual(bytesOf.get(`${address} ${startLayer} ${endLayer}`) ?? bytes);
      }
      expect(plan(room.toReversed(), model, options)).toEqual(learnt);
    }),
  );
});

const layers = equalLayers(8, 100e6);
const member = (address: string, memoryBytes: number, changes: Partial<Member> = {}): Member => {
  return { address, backend: 'Cuda', build: 'c1', memoryBytes, bandwidth: 100e9, ...changes };
};
const options = { coordinator: 'a', contextLength: 256, slots: 1 };

test('a stage takes the time of its profile over what was learnt, plain RAM and arithmetic included', () => {
  const card = { hostMemoryBytes: 2e9, hostBandwidth: 9e9, flops: 1e9 };
  fc.assert(
    fc.property(speed, fc.constantFrom({}, card), (stageSpeed, changes) => {
      const msOf = (more: Partial<Member>): number => {
        const room = [member('a', 'flops' in changes ? 0.6e9 : 4e9, { ...changes, ...more })];
        return plan(room, layers, options).pipelines[0]?.prediction.stages[0]?.ms ?? Number.NaN;
      };
      expect(msOf({ stageSpeed }) * stageSpeed).toBeCloseTo(msOf({}), 6);
    }),
  );
});

test('the quicker of two that look alike is chosen, which is said; without a bandwidth there is nothing to learn beside', () => {
  const holder = (a: Partial<Member>, b: Partial<Member>) => {
    const { pipelines, explain } = plan([member('a', 4e9, a), member('b', 4e9, b)], layers, {
      ...options,
      coordinator: null,
      maxReplicas: 1,
    });
    return { address: pipelines[0]?.stages[0]?.address, says: explain.join(' ').includes('were measured to take') };
  };
  expect(holder({}, {})).toEqual({ address: 'a', says: false });
  expect(holder({}, { stageSpeed: 1.5 })).toEqual({ address: 'b', says: true });
  expect(holder({ stageSpeed: 0.7 }, {})).toEqual({ address: 'b', says: false });
  expect(holder({ bandwidth: undefined }, { bandwidth: undefined, stageSpeed: 9 })).toEqual({
    address: 'a',
    says: false,
  });
});
