import { expect, test } from 'vitest';
import { LinkWay } from './linkWay.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('a way is half of the round trip and what the bytes take, measured while frames come and not all the time', async () => {
  let now = 0;
  const asked: number[] = [];
  const way = new LinkWay(
    async (bytes) => {
      asked.push(bytes);
      now += 4 + bytes / 1000;
    },
    () => now,
  );
  expect(way.ms).toBeNull();
  way.carried(3000);
  await settled();
  expect(way.ms).toBe(2 + 3);
  for (let frame = 0; frame < 10; frame += 1) way.carried(3000);
  await settled();
  // The first question of a connection is not timed.
  expect(asked).toEqual([0, 0, 3000]);
  now += 5000;
  // A chunk of a prompt is no measure for a token.
  way.carried(1e6);
  await settled();
  expect(asked.slice(3)).toEqual([0, 3000]);
});

test('a link that breaks under a question keeps what was measured', async () => {
  let now = 0;
  let broken = false;
  const way = new LinkWay(
    async () => {
      now += 2;
      if (broken) throw new Error('gone');
    },
    () => now,
  );
  way.carried(0);
  await settled();
  broken = true;
  now += 5000;
  way.carried(0);
  await settled();
  expect(way.ms).toBe(1);
});

test('it is the shortest of the last five measures, so that a busy processor counts little and a slower network soon', async () => {
  let now = 0;
  const way = new LinkWay(
    async () => {
      now += trip;
    },
    () => now,
  );
  let trip = 0;
  const measured: (number | null)[] = [];
  for (const next of [2, 40, 6, 40, 8, 40, 6]) {
    trip = next;
    way.carried(0);
    await settled();
    measured.push(way.ms);
    now += 5000;
  }
  expect(measured).toEqual([1, 1, 1, 1, 1, 3, 3]);
});
