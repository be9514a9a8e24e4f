import { expect, test } from 'vitest';
import { locateModel } from './locateModel.ts';

const IDS = ['a'.repeat(64), 'b'.repeat(64)] as const;

/** A pool in which this member's disk finds `own`, and each other member what it has. */
function locate(own: string | null, others: (string | null)[]) {
  const members = others.map((_, index) => ({
    ...({ id: `${index}`, name: `m${index}`, self: false, state: 'alive', address: `m${index}:1` } as const),
    ...{ facts: null, link: null, ways: [] },
  }));
  const clientOf = (id: string) => {
    const model = others[Number(id)] ?? null;
    const answer = model === null ? null : { model, weights: undefined };
    return { address: `m${id}:1`, findModel: async () => answer } as never;
  };
  return locateModel('llama', {
    files: { find: async () => own },
    room: { members: () => members, leader: () => null, memberAt: async () => '', onChange: () => () => {} },
    others: { clientOf },
  });
}

test('a name is looked for here and everywhere', async () => {
  expect(await locate(null, [null])).toBeNull();
  expect(await locate(IDS[0], [null])).toEqual({ model: IDS[0], isHere: true, holders: [] });
  const holders = [{ member: '1', addresses: ['m1:1'], weights: undefined }];
  expect(await locate(null, [null, IDS[0]])).toEqual({ model: IDS[0], isHere: false, holders });
  expect(await locate(IDS[0], [null, IDS[0]])).toEqual({ model: IDS[0], isHere: true, holders });
});

test.each([
  ['here and elsewhere', IDS[0], [IDS[1]]],
  ['elsewhere', null, [...IDS]],
])('one that several models have is refused with their ids: %s', async (_, own, others) => {
  await expect(locate(own, others)).rejects.toThrow(
    'Several models are called llama: give the id of one (aaaaaaaa, bbbbbbbb).',
  );
});
