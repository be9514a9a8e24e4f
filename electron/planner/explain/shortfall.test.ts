import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { equalLayers } from '../equalLayers.ts';
import type { Member } from '../member.ts';
import type { ModelShape } from '../modelShape.ts';
import { plan } from '../plan.ts';
import type { PlanOptions } from '../planOptions.ts';
import { alikeMembers, randomMembers, randomModel, randomOptions } from '../testing/randomRoom.ts';
import type { Help } from './shortfall.ts';

const scene = fc
  .oneof(randomMembers(), alikeMembers())
  .map((members) => members.map(({ reachability: _, ...member }) => member))
  .chain((members) =>
    fc.record({
      members: fc.constant(members),
      model: randomModel(),
      options: fc
        .tuple(
          randomOptions(members, { plain: true }),
          fc.record(
            {
              force: fc.constantFrom('single' as const, 'cluster' as const),
              policy: fc.constantFrom('hop-minimal' as const, 'proportional' as const),
              plainRam: fc.constantFrom('last-resort' as const, 'always' as const, 'never' as const),
            },
            { requiredKeys: [] },
          ),
        )
        .map(([costs, wishes]): PlanOptions => ({ ...costs, ...wishes, referenceCommit: 'c1' })),
    }),
  );

describe('what would help', () => {
  test('does help, each by itself', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(scene, ({ members, model, options }) => {
        const result = plan(members, model, options);
        expect(result.shortfall === null).toBe(result.fit !== 'DoesNotFit');
        for (const help of result.shortfall?.help ?? []) {
          seen.add(help.kind);
          const next = helped(help, members, model, options);
          expect(plan(next.members, next.model, next.options).fit, help.kind).not.toBe('DoesNotFit');
        }
      }),
      { numRuns: 2000 },
    );
    expect([...seen].sort()).toEqual([
      'AnotherMember',
      'ForceNothing',
      'LetIn',
      'MoreMemory',
      'PlainRam',
      'SmallerContext',
      'SmallerKvType',
      'SmallerQuant',
    ]);
  });

  test.each<[string, Partial<Member>, PlanOptions, string]>([
    ['paused', { paused: true }, {}, 'Resuming sharing on b (24.0 GB) would do.'],
    ['not heard of', { stale: true }, {}, 'Waking b (24.0 GB) or mending its network would do.'],
    ['of another build', { build: 'c2' }, { referenceCommit: 'c1' }, 'Bringing b (24.0 GB) to build c1 would do.'],
    ['not wanted', {}, { excluded: ['b'] }, 'Letting b (24.0 GB) take part would do.'],
    ['behind a relay', { reachability: 'RelayOnly' }, {}, 'A direct connection to b (24.0 GB) would do.'],
    ['without a GPU', { backend: 'Cpu' }, { plainRam: 'never' }, 'Allowing plain RAM would do, though it is slow.'],
  ])('says what lets in a member that is %s', (_, more, options, advice) => {
    const card = (address: string): Member => ({ address, backend: 'Cuda', memoryBytes: 24e9, build: 'c1' });
    const model = equalLayers(30, 1e9);
    const members = [card('a'), { ...card('b'), ...more }];
    expect(plan(members, model, { coordinator: 'a', ...options }).explain).toContain(advice);
    // What is not the obstacle is no advice.
    expect(plan(members, equalLayers(90, 1e9), { coordinator: 'a', ...options }).explain).not.toContain(advice);
  });

  test('names several that do only together', () => {
    const paused = (address: string): Member => ({
      address,
      backend: 'Cuda',
      memoryBytes: 24e9,
      build: 'c1',
      paused: true,
    });
    expect(plan([{ ...paused('a'), paused: false }, paused('b'), paused('c')], equalLayers(60, 1e9)).explain).toContain(
      'Resuming sharing on b (24.0 GB) and resuming sharing on c (24.0 GB), together, would do.',
    );
  });

  test('a room with nobody in it lacks the whole model', () => {
    fc.assert(
      fc.property(randomModel(), (model) => {
        const { fit, shortfall } = plan([], model, { contextLength: 256, batch: 1, slots: 1, coordinator: null });
        expect(fit).toBe('DoesNotFit');
        expect(shortfall?.missingBytes).toBeGreaterThan(0);
      }),
      { numRuns: 200 },
    );
  });
});

function helped(help: Help, members: Member[], model: ModelShape, options: PlanOptions) {
  switch (help.kind) {
    case 'AnotherMember': {
      const newcomer: Member = { address: 'new', backend: 'Cuda', memoryBytes: help.memoryBytes, build: 'c1' };
      return { members: [...members, newcomer], model, options };
    }
    case 'MoreMemory': {
      const { memoryBytes, address } = help;
      return {
        members: members.map((each) => (each.address === address ? { ...each, memoryBytes } : each)),
        model,
        options,
      };
    }
    case 'LetIn': {
      const chosen = new Set(help.members.map(({ address }) => address));
      const letInto = ({ paused: _, stale: __, reachability: ___, ...member }: Member): Member => ({
        ...member,
        build: 'c1',
      });
      return { members: members.map((each) => (chosen.has(each.address) ? letInto(each) : each)), model, options };
    }
    case 'SmallerContext':
      return { members, model, options: { ...options, contextLength: help.contextLength } };
    case 'SmallerKvType':
      return { members, model, options: { ...options, kvType: help.kvType } };
    case 'SmallerQuant': {
      const shrink = (bytes: number) => bytes * help.fraction;
      return {
        members,
        options,
        model: {
          ...model,
          embeddingBytes: shrink(model.embeddingBytes),
          outputBytes: shrink(model.outputBytes),
          tiedBytes: shrink(model.tiedBytes ?? 0),
          layers: model.layers.map((layer) => ({
            ...layer,
            weightBytes: shrink(layer.weightBytes),
            expertBytes: shrink(layer.expertBytes ?? 0),
          })),
        },
      };
    }
    case 'PlainRam':
      return { members, model, options: { ...options, plainRam: 'last-resort' as const } };
    case 'ForceNothing': {
      const { force: _, ...free } = options;
      return { members, model, options: free };
    }
  }
}
