import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextRun, type ScheduledSequence } from './stepScheduler.ts';

const limits = { chunk: 4, prefillInFlight: 3 };

const sequence = (id: number, fields: Partial<ScheduledSequence>): ScheduledSequence => ({
  id,
  length: 10,
  sent: 0,
  promptLength: 10,
  lastStep: -1,
  ...fields,
});

test('a prompt goes in chunks and only the last one samples', () => {
  expect(nextRun([sequence(0, {})], 0, limits)).toEqual({ id: 0, start: 0, count: 4, sample: false });
  expect(nextRun([sequence(0, { sent: 4 })], 0, limits)).toEqual({ id: 0, start: 4, count: 4, sample: false });
  expect(nextRun([sequence(0, { sent: 8 })], 0, limits)).toEqual({ id: 0, start: 8, count: 2, sample: true });
});

test('a decode goes before a prefill, and beside decodes one chunk is in flight at most', () => {
  const decode = sequence(1, { length: 11, sent: 10, lastStep: 7 });
  const waiting = sequence(1, { length: 11, sent: 11, lastStep: 7 });
  expect(nextRun([sequence(0, {}), decode], 0, limits)).toEqual({ id: 1, start: 10, count: 1, sample: true });
  expect(nextRun([sequence(0, {}), waiting], 0, limits)?.id).toBe(0);
  expect(nextRun([sequence(0, {}), waiting], 1, limits)).toBeNull();
  expect(nextRun([sequence(0, { sent: 4 })], 2, limits)?.id).toBe(0);
  expect(nextRun([sequence(0, { sent: 4 })], 3, limits)).toBeNull();
});

test('equals take turns, whatever the order they are listed in', () => {
  const a = sequence(0, { length: 12, sent: 11, lastStep: 5 });
  const b = sequence(1, { length: 12, sent: 11, lastStep: 4 });
  const c = sequence(2, { length: 12, sent: 11, lastStep: 4 });
  for (const order of [
    [a, b, c],
    [c, b, a],
    [b, a, c],
  ])
    expect(nextRun(order, 0, limits)?.id).toBe(1);
});

test('driven to the end, every token of every log is sent once, in order, and nobody starves', () => {
  const work = fc.array(
    fc.record({ prompt: fc.integer({ min: 1, max: 30 }), answer: fc.integer({ min: 0, max: 8 }) }),
    {
      minLength: 1,
      maxLength: 6,
    },
  );
  fc.assert(
    fc.property(work, fc.integer({ min: 1, max: 9 }), (jobs, chunk) => {
      const live = jobs.map(({ prompt, answer }, id) => ({
        id,
        length: prompt,
        sent: 0,
        promptLength: prompt,
        lastStep: -1,
        answer,
        waits: 0,
      }));
      const flying: { id: number; prefill: boolean; sample: boolean }[] = [];
      for (let step = 0; ; step += 1) {
        const chunksInFlight = flying.filter(({ prefill }) => prefill).length;
        const next = nextRun(live, chunksInFlight, { chunk, prefillInFlight: 3 });
        if (next !== null) {
          const found = live[next.id];
          if (found === undefined) throw new Error('unknown sequence');
          expect(next.start).toBe(found.sent);
          expect(next.count).toBeGreaterThan(0);
          expect(next.sample).toBe(next.start + next.count === found.length);
          flying.push({ id: next.id, prefill: found.sent < found.promptLength, sample: next.sample });
          found.sent += next.count;
          found.lastStep = step;
          continue;
        }
        const back = flying.shift();
        if (back === undefined) break;
        const found = live[back.id];
        if (found !== undefined && back.sample && found.length < found.promptLength + found.answer) found.length += 1;
      }
      for (const { sent, promptLength, answer } of live) expect(sent).toBe(promptLength + answer);
    }),
  );
});
