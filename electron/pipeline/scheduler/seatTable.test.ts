import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SeatTable } from './seatTable.ts';

const upTo = (count: number, from = 0): number[] => Array.from({ length: count }, (_, index) => from + index);

test('a request that begins like one before it gets the seat that holds the beginning', () => {
  const seats = new SeatTable(3);
  expect([seats.take([1]), seats.take([1]), seats.take([1])].map((seat) => seat?.slot)).toEqual([0, 1, 2]);
  expect(seats.take([1])).toBeNull();
  seats.release(0, upTo(40, 100));
  seats.release(1, upTo(40));
  seats.release(2, upTo(20));
  expect(seats.take([...upTo(30), 7])).toEqual({ slot: 1, generation: 2, kept: 30, used: true });
  expect(seats.take([...upTo(30), 8])).toEqual({ slot: 2, generation: 2, kept: 20, used: true });
  expect(seats.take([...upTo(30), 9])).toEqual({ slot: 0, generation: 2, kept: 0, used: true });
});

test('the last token of a prompt is computed again, and a short beginning does not cost another conversation its seat', () => {
  const seats = new SeatTable(2);
  for (const _ of [0, 1]) seats.take([1]);
  seats.release(0, [...upTo(3), ...upTo(30, 50)]);
  seats.release(1, [9]);
  expect(seats.take([...upTo(3), ...upTo(30, 90)])).toMatchObject({ slot: 0, kept: 3 });
  seats.release(0, upTo(20));
  seats.release(1, [9]);
  expect(seats.take(upTo(20))).toMatchObject({ slot: 0, kept: 19 });
  seats.release(0, upTo(8));
  expect(seats.take(upTo(8))).toMatchObject({ slot: 0, kept: 7 });
});

test('where beginnings are kept in units, what is kept is whole units, and a seat that has none of them is as good as an empty one', () => {
  const seats = new SeatTable(2, { unit: 8 });
  for (const _ of [0, 1]) seats.take([1]);
  seats.release(1, [9]);
  seats.release(0, upTo(24));
  expect(seats.take([...upTo(23), 90])).toMatchObject({ slot: 0, kept: 16 });
  seats.release(0, upTo(24));
  // The last token is computed again, and with it the unit that it ends.
  expect(seats.take(upTo(24))).toMatchObject({ slot: 0, kept: 16 });
  seats.release(0, upTo(24));
  expect(seats.take([...upTo(7), 90])).toMatchObject({ slot: 1, kept: 0 });
  expect(seats.take(upTo(25))).toMatchObject({ slot: 0, kept: 24 });
});

test('where a copy from elsewhere saves enough, or the best seat holds much else, the seat is the one that waited longest', () => {
  const seats = new SeatTable(3, { worthCopying: 16 });
  for (const _ of [0, 1, 2]) seats.take([1]);
  seats.release(2, [9]);
  seats.release(0, upTo(60));
  seats.release(1, upTo(200));
  const prompt = [...upTo(100), 7];
  // What is in common with slot 1 would be all that stays of it.
  expect(seats.take(prompt, 0)).toMatchObject({ slot: 2, kept: 0 });
  expect([...seats.left()].map(({ slot, generation }) => [slot, generation])).toEqual([
    [0, 1],
    [1, 1],
  ]);
  // Here it is 44 tokens that nobody else has.
  const longer = upTo(156);
  expect(seats.take(longer, 170)).toMatchObject({ slot: 1, kept: 155 });
  seats.release(1, upTo(200));
  expect(seats.take(longer, 171)).toMatchObject({ slot: 0, kept: 60 });
  // The only seat is gone on from.
  expect(seats.take(prompt, 0)).toMatchObject({ slot: 1, kept: 100 });
});

test('a slot in doubt is not gone on from', () => {
  const seats = new SeatTable(1);
  seats.take([1]);
  expect(seats.doubt(0)).toBe(false);
  seats.release(0, upTo(30));
  expect(seats.doubt(0)).toBe(true);
  expect(seats.take(upTo(30))).toMatchObject({ generation: 2, kept: 0, used: true });
});

test('what is kept is always the beginning of the prompt and of what was left there', () => {
  const prompt = fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(fc.array(prompt, { minLength: 1, maxLength: 30 }), (prompts) => {
      const seats = new SeatTable(3);
      const left = new Map<number, number[]>();
      const taken: { slot: number; prompt: number[] }[] = [];
      for (const next of prompts) {
        if (taken.length === 3) {
          const out = taken.shift();
          if (out !== undefined) {
            seats.release(out.slot, out.prompt);
            left.set(out.slot, out.prompt);
          }
        }
        const seat = seats.take(next);
        if (seat === null) throw new Error('a seat is free');
        expect(seat.kept).toBeLessThan(next.length);
        expect(left.get(seat.slot)?.slice(0, seat.kept) ?? []).toEqual(next.slice(0, seat.kept));
        expect(taken.map(({ slot }) => slot)).not.toContain(seat.slot);
        taken.push({ slot: seat.slot, prompt: next });
      }
    }),
  );
});
