import { beforeEach, expect, test } from 'vitest';
import { RingLife } from './ringLife.ts';

let now: number;
let alive: string[];
let life: RingLife;

beforeEach(() => {
  now = 0;
  alive = [];
  life = new RingLife(
    ['ada', 'bob', 'cyd'],
    (member) => alive.push(member),
    () => now,
  );
});

test('a step that comes back soon shows that every stage lives', () => {
  life.sent(1);
  now = 999;
  life.cameBack(1);
  expect(alive).toEqual(['ada', 'bob', 'cyd']);
});

test('a step that took long, or that was never sent, shows only who sent it on', () => {
  life.sent(1);
  now = 1000;
  life.cameBack(1);
  life.cameBack(1);
  life.cameBack(7);
  expect(alive).toEqual(['cyd', 'cyd', 'cyd']);
});

test('steps that were dropped on the way are forgotten', () => {
  for (const step of [1, 2, 3]) life.sent(step);
  life.cameBack(2);
  alive = [];
  life.cameBack(1);
  expect(alive).toEqual(['cyd']);
  life.cameBack(3);
  expect(alive).toHaveLength(4);
});
