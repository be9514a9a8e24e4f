import { expect, test } from 'vitest';
import type { ModelHolder } from '../forming/modelFiles.ts';
import { agreeing, everyHolder } from './findHolders.ts';

const holder = (member: string, weights?: string): ModelHolder => ({ member, addresses: [`${member}:1`], weights });
const named = ({ same, others }: ReturnType<typeof agreeing>) =>
  [same, others].map((all) => all.map(({ member }) => member));

test("the leader's own file is held against those of the others, whoever was named", () => {
  const [ada, bob, cyd] = [holder('ada', 'x'), holder('bob', 'y'), holder('cyd', 'x')];
  expect(named(agreeing(everyHolder(ada, [], [bob, cyd])))).toEqual([['ada', 'cyd'], ['bob']]);
  expect(named(agreeing(everyHolder(ada, [bob], [cyd])))).toEqual([['bob'], ['ada', 'cyd']]);
  expect(named(agreeing(everyHolder(null, [], [bob, cyd])))).toEqual([['bob'], ['cyd']]);
  expect(named(agreeing(everyHolder(holder('ada'), [], [bob])))).toEqual([['ada', 'bob'], []]);
});

test('everyone is there once, at the address by which it was named, with what it said when it was asked', () => {
  const elsewhere = { ...holder('bob', 'y'), addresses: ['10.0.0.2:9'] };
  expect(everyHolder(null, [holder('bob')], [elsewhere])).toEqual([{ ...holder('bob'), weights: 'y' }]);
  expect(everyHolder(holder('ada', 'new'), [holder('ada', 'old')], [])).toEqual([holder('ada', 'new')]);
  expect(everyHolder(holder('ada'), [holder('ada', 'old')], [])).toEqual([holder('ada', 'old')]);
});
